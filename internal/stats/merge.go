package stats

// group is a stratum, possibly several merged into one, and which of the given ones it is made of.
type group struct {
	Stratum
	of []int
}

// merge counts each stratum without observations with a neighbour of its line, so that its weight
// is not lost: with the larger of the two by N_h, the earlier when they are equal. Sizes alone
// decide, never outcomes. A stratum without neighbours stays, and the estimate is undefined.
func merge(strata []Stratum) (out []group, names []Merge, why Absence) {
	lines := map[string][]group{}
	var order []string
	for i, h := range strata {
		g := group{h, []int{i}}
		switch {
		case h.Size == 0:
		case h.Line == "":
			out = append(out, g)
			if h.Observed == 0 {
				why = StratumUnobserved
			}
		default:
			if lines[h.Line] == nil {
				order = append(order, h.Line)
			}
			lines[h.Line] = append(lines[h.Line], g)
		}
	}
	for _, line := range order {
		merged, made, ok := mergeLine(lines[line])
		out = append(out, merged...)
		names = append(names, made...)
		if !ok {
			why = StratumUnobserved
		}
	}
	return out, names, why
}

func mergeLine(line []group) (out []group, names []Merge, ok bool) {
	for i := 0; i < len(line); {
		if line[i].Observed > 0 {
			i++
			continue
		}
		if len(line) == 1 {
			return line, names, false
		}
		j := i - 1
		if j < 0 || (i+1 < len(line) && line[i+1].Size > line[j].Size) {
			j = i + 1
		}
		names = append(names, Merge{Empty: line[i].Label, Into: line[j].Label})
		first := min(i, j)
		line[first] = joined(line[first], line[first+1], line[j].Label)
		line = append(line[:first+1], line[first+2:]...)
		i = first
	}
	return line, names, true
}

func joined(a, b group, label string) group {
	return group{of: append(a.of[:len(a.of):len(a.of)], b.of...), Stratum: Stratum{
		Label: label, Line: a.Line,
		Size: a.Size + b.Size, Drawn: a.Drawn + b.Drawn,
		Observed: a.Observed + b.Observed, Domain: a.Domain + b.Domain, Sum: a.Sum + b.Sum, Squares: a.Squares + b.Squares,
	}}
}
