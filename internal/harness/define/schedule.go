package define

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"assay/internal/assay"
	"assay/internal/definition"
	"assay/internal/engine"
)

var elsewhereInSchedule = map[string]string{
	"name":      "the name stands before the colon, under `schedules:`",
	"every":     "write it as `cron`, for instance '*/15 * * * *'",
	"timezone":  "it is called `zone`",
	"params":    "they stand under `suite`, beside its name",
	"command":   "a command stands under `suites:`; a schedule names the suite that it starts",
	"judges":    "they stand under `grade`",
	"paused":    "pausing is not written here: `assay schedule pause NAME`",
	"enabled":   "pausing is not written here: `assay schedule pause NAME`",
	"completed": "a schedule has no end; delete it",
}

func (f *reader) schedules(section, n *yaml.Node) error {
	return definition.Named(n, "schedules", func(name string, key, value *yaml.Node) error {
		if err := checkName(key, "schedule"); err != nil {
			return err
		}
		def, err := f.schedule(key, value)
		if err != nil {
			return err
		}
		f.scheduleList = append(f.scheduleList, assay.Schedule{Name: name, Def: def, Source: f.text.part(section, key, value)})
		return nil
	})
}

func (f *reader) schedule(key, n *yaml.Node) (assay.ScheduleDef, error) {
	d := assay.ScheduleDef{Zone: "UTC", CatchUp: assay.CatchUpOne, Overlap: assay.OverlapSkip}
	p := places{}
	err := definition.Mapping(n, "a schedule", p.of(definition.Fields{
		"description": definition.Text(&d.Description, "description"),
		"cron":        definition.Text(&d.Cron, "cron"),
		"zone":        definition.Text(&d.Zone, "zone"),
		"catch_up":    choice(&d.CatchUp, "catch_up", assay.CatchUpOne, assay.CatchUpNone),
		"overlap":     choice(&d.Overlap, "overlap", assay.OverlapSkip, assay.OverlapQueue),
		"suite":       func(n *yaml.Node) (err error) { d.Suite, err = f.scheduledSuite(n); return err },
		"grade":       func(n *yaml.Node) (err error) { d.Grade, err = grade(n); return err },
	}), elsewhereInSchedule)
	if err != nil {
		return d, err
	}
	if d.Cron == "" {
		return d, definition.At(p.at(key, "cron"), "the schedule %q has no cron expression", key.Value).WithHint("write minute, hour, day, month and weekday, for instance `cron: '0 3 * * *'`")
	}
	if _, err := assay.Zone(d.Zone); err != nil {
		return d, definition.At(p.at(key, "zone"), "zone %.40q is not known", d.Zone).WithHint("use a name of the IANA database, for instance Europe/Berlin or UTC")
	}
	if (d.Suite == nil) == (d.Grade == nil) {
		return d, definition.At(p.at(key, "grade", "suite"), "the schedule %q must start one thing: a suite or a grade run", key.Value).WithHint("write `suite: {name: …}` or `grade: {judges: […]}`")
	}
	if f.valid != nil {
		if err := f.valid(d); err != nil {
			return d, within(p["cron"], p, err)
		}
	}
	return d, nil
}

func choice[T ~string](to *T, name string, choices ...T) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		var given string
		if err := definition.Text(&given, name)(n); err != nil {
			return err
		}
		var names []string
		for _, c := range choices {
			names = append(names, string(c))
		}
		if !slices.Contains(names, given) {
			return definition.At(n, "%s %.40q is not known%s", name, given, definition.Nearest(given, names)).WithHint("use %s", strings.Join(names, " or "))
		}
		*to = T(given)
		return nil
	}
}

// scheduledSuite reads the suite that is started. Where the file defines it, its parameters are checked.
func (f *reader) scheduledSuite(n *yaml.Node) (*assay.ScheduledSuite, error) {
	s := &assay.ScheduledSuite{}
	if n.Kind == yaml.ScalarNode {
		return nil, definition.At(n, "suite must be a mapping, not a single value").WithHint("write `suite: {name: %.60s}`", n.Value)
	}
	p := places{}
	err := definition.Mapping(n, "suite", p.of(definition.Fields{
		"name": definition.Text(&s.Name, "name"),
		"params": func(n *yaml.Node) error {
			s.Params = map[string]json.RawMessage{}
			return definition.Named(n, "params", func(name string, _, value *yaml.Node) (err error) {
				if value.Tag != "!!null" {
					s.Params[name], err = scalar(value, "a value of params")
				}
				return err
			})
		},
	}), nil)
	if err != nil {
		return nil, err
	}
	if s.Name == "" {
		return nil, definition.At(p.at(n, "name"), "the schedule's suite has no name").WithHint("write `suite: {name: …}`")
	}
	if err := checkName(p["name"], "suite"); err != nil {
		return nil, err
	}
	if def, here := f.found[s.Name]; here {
		if _, err := Resolve(def, s.Params, assay.ParamScheduled); err != nil {
			return nil, definition.Within(p.at(n, "params"), err)
		}
	}
	return s, nil
}

// grade reads the request of a grade run and writes it as its JSON body.
func grade(n *yaml.Node) (json.RawMessage, error) {
	var q engine.GradeRequest
	var perStratum, concurrency, repeats *int64
	var seed string
	p := places{}
	err := definition.Mapping(n, "grade", p.of(definition.Fields{
		"judges":         definition.Texts(&q.Judges, "judges", "names of judges, for instance [helpful]"),
		"from":           instant(&q.From, "from"),
		"to":             instant(&q.To, "to"),
		"since":          instant(&q.Since, "since"),
		"filter":         definition.Text(&q.Filter, "filter"),
		"set":            definition.Text(&q.Set, "set"),
		"labelled":       definition.Bool(&q.Labelled, "labelled"),
		"undated":        definition.Bool(&q.Undated, "undated"),
		"per_stratum":    atLeast(1, &perStratum, "per_stratum"),
		"seed":           definition.Text(&seed, "seed"),
		"concurrency":    atLeast(1, &concurrency, "concurrency"),
		"repeats":        atLeast(1, &repeats, "repeats"),
		"force":          definition.Bool(&q.Force, "force"),
		"budget_usd":     dollars(&q.Budget),
		"allow_unpriced": definition.Bool(&q.Unpriced, "allow_unpriced"),
	}), map[string]string{
		"judge":   "it is called `judges`, a list",
		"session": "a schedule grades what settled since its last tick; one session is graded by `assay grade --session`",
		"budget":  "it is called `budget_usd`",
		"sample":  "it is called `per_stratum`: sessions to grade per day and arm",
	})
	if err != nil {
		return nil, err
	}
	if len(q.Judges) == 0 || slices.Contains(q.Judges, "") {
		return nil, definition.At(p.at(n, "judges"), "grade names no judge").WithHint("write `judges: [helpful]`; `assay judge list` shows them")
	}
	q.PerStratum, q.Concurrency = smaller(perStratum), smaller(concurrency)
	if r := smaller(repeats); r != nil {
		q.Repeats = *r
	}
	if p["seed"] != nil {
		q.Seed = &seed
	}
	return json.Marshal(q)
}

func smaller(n *int64) *int {
	if n == nil {
		return nil
	}
	i := int(*n)
	return &i
}

func atLeast(least int64, to **int64, name string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		if err := definition.Int(to, name)(n); err != nil {
			return err
		}
		if **to < least || **to > 1<<31-1 {
			return definition.At(n, "%s is out of range", name).WithHint("use %d or more", least)
		}
		return nil
	}
}

func instant(to **time.Time, name string) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		t, err := time.Parse(time.RFC3339, n.Value)
		if n.Kind != yaml.ScalarNode || err != nil {
			return definition.At(n, "%s must be a time", name).WithHint("with its zone, for instance 2025-03-01T00:00:00Z")
		}
		*to = &t
		return nil
	}
}

func dollars(to **assay.USD) func(*yaml.Node) error {
	return func(n *yaml.Node) error {
		var f *float64
		if err := definition.Number(&f, "budget_usd")(n); err != nil {
			return err
		}
		var amount assay.USD
		if *f <= 0 || json.Unmarshal([]byte(n.Value), &amount) != nil || amount <= 0 || amount > assay.MaxUSD {
			return definition.At(n, "budget_usd is out of range").WithHint("use an amount of US dollars above 0, for instance 2.50")
		}
		*to = &amount
		return nil
	}
}
