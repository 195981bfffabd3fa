package old

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"assay/internal/assay"
	"assay/internal/stats"
	"assay/internal/store"
)

// given makes a grading of texts: pass, then one answer for each criterion; "abstained" and "outside"
// are what they say, and "-" is nothing.
func given(no int, v assay.JudgeVersion, pass string, values ...string) store.Repeat {
	r := store.Repeat{No: no}
	if pass != "-" {
		p := pass == "true"
		r.Pass = &p
	}
	for i, value := range values {
		f := store.Finding{Criterion: v.Criteria[i].Name, Applies: true, Value: value}
		switch value {
		case "-":
			continue
		case "abstained":
			f.Abstained, f.Value = true, ""
		case "outside":
			f.Applies, f.Value = false, ""
		}
		r.Findings = append(r.Findings, f)
	}
	return r
}

// repeated is the finished run, had it graded each session three times.
func repeated(t *testing.T) facts {
	f := finished()
	f.chain[0].Spec.Repeats, f.chain[0].Planned, f.covers.Of = 3, 276, 276
	once := f.tally
	for no := 1; no < 3; no++ { // of the later repeats everything passed: no level may see that
		for _, row := range once {
			row.Repeat, row.Reused = no, false
			if row.State == assay.ItemGraded {
				row.Pass = pass(true)
			}
			f.tally = append(f.tally, row)
		}
	}
	f.estimate = f.tally
	r := newRepeats(f.versions)
	f.noise = r.cells
	add := func(judge, stratum int, repeats ...store.Repeat) {
		if err := r.add(&store.Regraded{Judge: judge, Stratum: stratum, Repeats: repeats}); err != nil {
			t.Fatal(err)
		}
	}
	rules, tone := f.versions[0], f.versions[1]
	for i, h := range f.strata {
		for n := range int(h.Sampled) {
			if i != 4 {
				done := given(0, rules, "true", "true", `"done"`, "outside")
				again := done
				if n == 0 {
					again = given(1, rules, "false", "false", `"lost"`, "true")
				}
				add(0, i, done, again, done)
			}
			switch warm := given(0, tone, "true", "7.5"); n {
			case 0:
				add(1, i, warm)
			case 1:
				add(1, i, warm, given(1, tone, "-", "abstained"), given(2, tone, "true", "7.50"))
			default:
				add(1, i, warm, given(1, tone, "true", "8"), given(2, tone, "true", "8.5"))
			}
		}
	}
	return f
}

func TestNoiseOfARepeatedRun(t *testing.T) {
	r := compose(repeated(t))
	for width, name := range map[int]string{100: "repeated-100.txt", 60: "repeated-60.txt"} {
		var b strings.Builder
		if err := Text(&b, r, width); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := columns(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("at %d columns there is a line of %d: %s", width, n, line)
			}
		}
		golden(t, name, b.String())
	}
	b, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "repeated.json", string(b)+"\n")
	var back Report
	if err := json.Unmarshal(b, &back); err != nil {
		t.Fatal(err)
	}
	var one, two strings.Builder
	if Text(&one, r, 100) != nil || Text(&two, back, 100) != nil || one.String() != two.String() {
		t.Error("a report that went through JSON prints otherwise")
	}
}

// Three gradings of each session change no level, no coverage, no bound and no count of sessions.
func TestRepeatsChangeNoLevel(t *testing.T) {
	once, thrice := compose(finished()), compose(repeated(t))
	for i := range thrice.Judges {
		for k := range thrice.Judges[i].Criteria {
			if thrice.Judges[i].Criteria[k].Noise == nil || once.Judges[i].Criteria[k].Noise != nil {
				t.Errorf("criterion %d of judge %d: noise %v of three gradings, %v of one", k, i, thrice.Judges[i].Criteria[k].Noise, once.Judges[i].Criteria[k].Noise)
			}
			thrice.Judges[i].Criteria[k].Noise = nil
		}
	}
	a, errA := json.Marshal(once.Judges)
	b, errB := json.Marshal(thrice.Judges)
	if errA != nil || errB != nil || string(a) != string(b) {
		t.Errorf("three gradings:\n%s\none:\n%s", b, a)
	}
	if once.Counts.Sampled != thrice.Counts.Sampled || 3*once.Counts.Total != thrice.Counts.Total || once.Counts.Eligible != thrice.Counts.Eligible {
		t.Errorf("counts %+v, of one grading %+v", thrice.Counts, once.Counts)
	}
}

func TestWhatIsAnAnswerToNoise(t *testing.T) {
	outsider := assay.JudgeVersion{Criteria: []assay.Criterion{{Name: "kind", Type: assay.Category, Values: []string{"a", "b"}, MayNotApply: true}}}
	abstainer := assay.JudgeVersion{Criteria: []assay.Criterion{{Name: "score", Type: assay.Number, MayAbstain: true}, {Name: assay.CriterionPass, Type: assay.Boolean}}}
	g := func(v assay.JudgeVersion, pass string, values ...string) store.Repeat {
		return given(0, v, pass, values...)
	}
	for _, c := range []struct {
		name      string
		v         assay.JudgeVersion
		criterion string
		repeats   []store.Repeat
		want      string // sessions, gradings, single, abstained, outside, split, flips
	}{
		{"nothing graded", outsider, "pass", nil, "none"},
		{"graded once", outsider, "pass", []store.Repeat{g(outsider, "true", `"a"`)}, "0 0 1 0 0 0 0.00"},
		{"all the same", outsider, "kind", []store.Repeat{g(outsider, "true", `"a"`), g(outsider, "true", `"a"`)}, "1 2 0 0 0 0 0.00"},
		{"three values", outsider, "kind", []store.Repeat{g(outsider, "true", `"a"`), g(outsider, "true", `"b"`), g(outsider, "true", `"c"`)}, "1 3 0 0 0 1 1.00"},
		{"does not apply is an answer", outsider, "kind", []store.Repeat{g(outsider, "true", `"a"`), g(outsider, "true", "outside")}, "1 2 0 0 1 1 1.00"},
		{"never applies", outsider, "kind", []store.Repeat{g(outsider, "-", "outside"), g(outsider, "-", "outside")}, "1 2 0 0 2 0 0.00"},
		{"a rule that is undefined because nothing applies is outside", outsider, "pass", []store.Repeat{g(outsider, "true", `"a"`), g(outsider, "-", "outside")}, "1 2 0 0 1 1 1.00"},
		{"an abstention is none", abstainer, "score", []store.Repeat{g(abstainer, "true", "1"), g(abstainer, "-", "abstained"), g(abstainer, "true", "2")}, "1 2 0 1 0 1 1.00"},
		{"a rule that is undefined where a judge may abstain is none", abstainer, "pass", []store.Repeat{g(abstainer, "true", "1"), g(abstainer, "-", "abstained")}, "0 0 1 1 0 0 0.00"},
		{"one notation of a number is another's", abstainer, "score", []store.Repeat{g(abstainer, "true", "7"), g(abstainer, "true", "7.0"), g(abstainer, "true", "70e-1")}, "1 3 0 0 0 0 0.00"},
		{"the rule, not a criterion of its name", abstainer, "pass", []store.Repeat{g(abstainer, "true", "1", "false"), g(abstainer, "true", "1", "true")}, "1 2 0 0 0 0 0.00"},
		{"no answer to this question", outsider, "kind", []store.Repeat{g(outsider, "true", "-"), g(outsider, "true", "-")}, "none"},
	} {
		r := newRepeats([]assay.JudgeVersion{c.v})
		if c.repeats != nil {
			for range 2 { // what one content said must not reach the next
				r.cells = map[noiseKey]*noiseCell{}
				if err := r.add(&store.Regraded{Repeats: c.repeats}); err != nil {
					t.Fatal(err)
				}
			}
		}
		got := "none"
		if n := r.cells[noiseKey{0, c.criterion, 0}]; n != nil {
			got = fmt.Sprintf("%d %d %d %d %d %d %.2f", n.Units, n.gradings, n.single, n.abstained, n.outside, n.Split, n.Flips)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Where nothing was graded twice there is a reason, and neither a 0 nor a NaN.
func TestNoiseOfNothingIsAbsent(t *testing.T) {
	for name, f := range map[string]facts{"before anything ended": running(), "errors only": finished()} {
		why := "absent: no session has two answers"
		if !f.covers.Complete {
			why = "not finished yet"
		}
		f.chain[0].Spec.Repeats = 2
		r := compose(f)
		for _, k := range r.Judges[1].Criteria {
			if n := k.Noise; n.FlipRate != nil || n.Split != nil || n.Spread != nil || n.Absent != stats.NothingRepeated || *n.Coverage != 0 || *n.Low != 0 || *n.High != 1 {
				t.Errorf("%s: %+v", name, n)
			}
		}
		var b strings.Builder
		if err := NoiseText(&b, r, 60); err != nil || !strings.Contains(b.String(), "warmth: "+why+"\n") || strings.Contains(b.String(), "NaN") {
			t.Errorf("%s: %v\n%s", name, err, b.String())
		}
	}
}

// replan plans a retry of what a chain left, as grading does.
func (b *bed) replan(of assay.RunID) (f store.Fence) {
	b.Helper()
	var left []assay.Item
	b.must(b.store.Plans().Retryable(b.ctx, of, func(it assay.Item) error { left = append(left, it); return nil }))
	return b.plan(of, 3, left)
}

// A flipping judge over a real store, read as prefix, finished run and chain.
func TestNoiseOverAStoreAndAChain(t *testing.T) {
	b := newBed(t)
	var items []assay.Item
	for _, c := range b.contents {
		for no := range 3 {
			items = append(items, assay.Item{Session: c.Key, Content: c.Content, Stratum: stratumOf(c), Repeat: no})
		}
	}
	f := b.plan(0, 3, items)
	seq := func(session, repeat int) int64 { return int64(3*session + repeat + 1) }
	outcomes := map[int64]string{}
	for s := range 12 {
		for no := range 3 {
			outcomes[seq(s, no)] = "good"
		}
	}
	outcomes[seq(0, 1)], outcomes[seq(2, 0)] = "bad", "bad" // two of three agree
	outcomes[seq(4, 0)], outcomes[seq(6, 1)], outcomes[seq(6, 2)] = "timeout", "network", "network"
	some := map[int64]string{}
	for n, how := range outcomes {
		if n <= seq(1, 1) {
			some[n] = how
		}
		if n > seq(1, 2) {
			some[n] = "good" // ended before the one that hangs
		}
	}
	early := newBed(t)
	e := early.plan(0, 3, items)
	early.end(e, some)
	if n := early.report(e.Run).Judges[0].Criteria[0].Noise; n.Sessions != 2 || n.Gradings != 5 || math.Abs(*n.FlipRate-1./3) > 1e-12 {
		t.Errorf("noise of a prefix that ends within the second session: %+v", n)
	}

	b.end(f, outcomes)
	b.finish(f)
	check := func(what string, r Report, flips float64, sessions, gradings, single, answered int64, level float64) {
		t.Helper()
		k := r.Judges[0].Criteria[0]
		n, e := k.Noise, k.Measures[0].Overall
		if math.Abs(*n.FlipRate-flips) > 1e-12 || n.Sessions != sessions || n.Gradings != gradings || n.Single != single || n.Sampled != 12 || n.Interval != stats.NoInterval {
			t.Errorf("%s: noise %+v (flips %v), want %v over %d sessions, %d gradings, %d single", what, n, *n.FlipRate, flips, sessions, gradings, single)
		}
		if e.Sampled != 12 || e.Answered != answered || math.Abs(*e.Level-level) > 1e-12 || math.Abs(*e.Coverage-float64(answered)/12) > 1e-12 {
			t.Errorf("%s: %+v, level %v, want %d answered and %v: rates are of sessions, by their first grading", what, e, *e.Level, answered, level)
		}
		if kind := r.Judges[0].Criteria[1].Noise; math.Abs(*kind.FlipRate-flips) > 1e-12 {
			t.Errorf("%s: the criterion flips at %v, the rule made of it at %v", what, *kind.FlipRate, flips)
		}
	}
	// Both strata weigh the same. Sessions 0 to 5 are of the first day; 4 has two gradings left, 6 one.
	first := b.report(f.Run)
	check("the first run", first, (2./3+2./3)/6/2, 11, 32, 1, 11, (4./5+6./6)/2)
	if first.Counts.Total != 36 || first.Counts.Graded != 33 {
		t.Errorf("items are gradings: %+v", first.Counts)
	}

	retry := b.replan(f.Run)
	b.end(retry, map[int64]string{1: "bad"}) // session 4, repeat 0
	running := b.report(retry.Run)
	if *running.Judges[0].Criteria[0].Noise.FlipRate != *first.Judges[0].Criteria[0].Noise.FlipRate {
		t.Error("a retry in the middle changes the noise")
	}
	b.end(retry, map[int64]string{2: "bad", 3: "timeout"}) // session 6, repeats 1 and 2
	b.finish(retry)
	check("the chain", b.report(retry.Run), (3*2./3+1)/6/2, 12, 35, 0, 12, (4./6+6./6)/2)

	again := b.replan(retry.Run)
	b.end(again, map[int64]string{1: "good"})
	b.finish(again)
	last := b.report(again.Run)
	check("the chain of three", last, (4*2./3)/6/2, 12, 36, 0, 12, (4./6+6./6)/2)
	if last.Counts.Total != 36 || last.Counts.Graded != 36 || !slices.Equal(last.Run.Retries, []assay.RunID{retry.Run, f.Run}) {
		t.Errorf("counts of the chain: %+v, retries %v", last.Counts, last.Run.Retries)
	}
}
