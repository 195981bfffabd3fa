package extract

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"

	"assay/internal/assay"
	"assay/internal/store"
)

// assembly makes an extract of items and then of findings, which come in any order.
type assembly struct {
	extract  *Extract
	items    []item
	at       map[assay.ContentKey]int32 // row of a content
	column   map[string]int
	value    []map[string]Answer // by column: JSON of a value
	fails    []*failing          // by column; nil of what cannot fail
	booleans int                 // questions beside pass that are answered with yes or no
	times    times
}

type item struct {
	Row
	order                      int64
	user, name, agent, sources string
	pass                       *bool
}

// newAssembly begins an extract: columns without answers.
func newAssembly(e *Extract) *assembly {
	a := &assembly{extract: e, at: map[assay.ContentKey]int32{}, column: map[string]int{}}
	e.Columns = append(e.Columns, Column{Criterion: assay.Criterion{Name: assay.CriterionPass, Type: assay.Boolean}})
	for _, k := range e.Version.Criteria {
		if k.Name != assay.CriterionPass { // that is the name of the judge's rule
			e.Columns = append(e.Columns, Column{Criterion: k, Values: slices.Clone(k.Values)})
		}
	}
	for i, c := range e.Columns {
		a.column[c.Criterion.Name] = i
		values := map[string]Answer{}
		for n, v := range c.Values {
			raw, _ := json.Marshal(v) // a text always has a JSON form
			values[string(raw)] = Answer(n)
		}
		a.value = append(a.value, values)
		var f *failing
		if c.Criterion.Type == assay.Boolean {
			f = newFailing(c.Criterion.Name)
			if i > 0 {
				a.booleans++
			}
		}
		a.fails = append(a.fails, f)
	}
	return a
}

func (a *assembly) item(i *store.ExtractItem) error {
	a.items = append(a.items, item{
		Row:   Row{Content: i.Content, Session: i.Session, Run: i.Run, Seq: i.Seq, Stratum: int32(i.Stratum), State: i.State, Class: i.Class, Reused: i.Reused, Cut: i.Cut},
		order: i.RootSeq, user: i.User, name: i.Case, agent: i.AgentVersion, sources: i.Source, pass: i.Pass,
	})
	return nil
}

// order puts rows into dispatch order and numbers what they name by first appearance.
func (a *assembly) order() {
	e := a.extract
	slices.SortFunc(a.items, func(x, y item) int {
		return cmp.Or(cmp.Compare(x.order, y.order), cmp.Compare(x.Content, y.Content))
	})
	users, cases, agents, sources := names{list: &e.Users}, names{list: &e.Cases}, names{list: &e.Agents}, names{list: &e.Sources}
	e.Rows = make([]Row, len(a.items))
	for i := range e.Columns {
		c := &e.Columns[i]
		c.Answers = make([]Answer, len(a.items))
		for n := range c.Answers {
			c.Answers[n] = Missing
		}
		if c.Criterion.Type == assay.Number {
			c.Numbers = make([]float64, len(a.items))
		}
	}
	for n := range a.items {
		it := &a.items[n]
		if it.user == assay.UnknownUser || it.user == "" {
			it.User = users.another()
		} else {
			it.User = users.number(it.user)
		}
		if it.Case = -1; it.name != "" {
			it.Case = cases.number(it.name)
		}
		it.Agent, it.Source = agents.number(it.agent), sources.number(it.sources)
		e.Rows[n] = it.Row
		a.at[it.Content] = int32(n)
		if it.State == assay.ItemGraded {
			e.Columns[0].Answers[n] = passOf(it.pass)
		}
		if e.Columns[0].Answers[n] == No {
			a.fails[0].N++
		}
	}
	a.items = nil
}

func passOf(pass *bool) Answer {
	switch {
	case pass == nil:
		return Undefined
	case *pass:
		return Yes
	}
	return No
}

// names numbers texts.
type names struct {
	list *[]string
	at   map[string]int32
}

func (n *names) number(name string) int32 {
	if at, ok := n.at[name]; ok {
		return at
	}
	if n.at == nil {
		n.at = map[string]int32{}
	}
	at := int32(len(*n.list))
	n.at[name] = at
	*n.list = append(*n.list, name)
	return at
}

// another is a number that no other row has.
func (n *names) another() int32 {
	*n.list = append(*n.list, "")
	return int32(len(*n.list) - 1)
}

func (a *assembly) finding(f *store.ExtractFinding) error {
	row, graded := a.at[f.Content]
	at, ours := a.column[f.Criterion]
	if !graded || !ours || at == 0 {
		return nil
	}
	c := &a.extract.Columns[at]
	c.Answers[row] = a.answer(at, row, f)
	if f.Quoted {
		c.Quoted++
	}
	if f.Unverified {
		c.Unverified++
	}
	if a.fails[at] != nil && c.Answers[row] == No {
		a.fails[at].N++
		a.fails[at].add(row, at, f.Reason)
	}
	if a.extract.Columns[0].Answers[row] == No {
		if t := c.typeOf(row); t != "" {
			a.fails[0].types[t]++
		}
	}
	// The rule failed because of the questions that were answered with no; where it is about none of those, any
	// answer may be why.
	if a.extract.Columns[0].Answers[row] == No && (a.booleans == 0 || a.fails[at] != nil && c.Answers[row] == No) {
		a.fails[0].add(row, at, a.because(at, f.Reason))
	}
	return nil
}

// typeOf is the answer of a failing session as a type of failure; "" of what is none.
func (c *Column) typeOf(row int32) string {
	switch got := c.Answers[row]; {
	case c.Criterion.Type == assay.Boolean && got == No:
		return c.Criterion.Name + ": no"
	case (c.Criterion.Type == assay.Ordinal || c.Criterion.Type == assay.Category) && got >= 0:
		return c.Criterion.Name + ": " + c.Values[got]
	}
	return ""
}

// because is the reason of a fail, with its question where there are several that can be answered with no.
func (a *assembly) because(at int, reason string) string {
	if a.booleans > 1 && reason != "" {
		return a.extract.Columns[at].Criterion.Name + ": " + reason
	}
	return reason
}

func (a *assembly) answer(at int, row int32, f *store.ExtractFinding) Answer {
	c := &a.extract.Columns[at]
	switch {
	case f.Abstained:
		return Abstained
	case !f.Applies:
		return Outside
	}
	switch c.Criterion.Type {
	case assay.Boolean:
		if f.Value == "true" {
			return Yes
		}
		return No
	case assay.Number:
		x, err := strconv.ParseFloat(f.Value, 64)
		if err != nil {
			return Missing // judge checked the type before it stored the answer
		}
		c.Numbers[row] = x
		return HasNumber
	}
	if v, ok := a.value[at][f.Value]; ok {
		return v
	}
	var text string
	if json.Unmarshal([]byte(f.Value), &text) != nil {
		text = f.Value
	}
	v := Answer(len(c.Values))
	c.Values = append(c.Values, text)
	a.value[at][f.Value] = v
	return v
}

// end sums up what failing answers said and how long calls took.
func (a *assembly) end() {
	for _, f := range a.fails {
		if f != nil {
			a.extract.Fails = append(a.extract.Fails, f.fails())
		}
	}
	a.extract.Calls = a.times.calls()
}
