package kinds

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"assay/internal/assay"
	"assay/internal/definition"
	"assay/internal/judge"
)

// draft is a definition on its way from YAML.
type draft struct {
	env         Env
	name        definition.Source
	description string
	kind        definition.Source
	unit        definition.Source
	pass        definition.Source
	fields      []definition.Source
	criteria    []assay.Criterion
	places      []*yaml.Node // of the criteria
	blocks      map[assay.JudgeKind]*yaml.Node
	root        *yaml.Node

	spec     any // the kind's own part of the version
	settings any
	alias    bool
}

// Parse reads a definition in YAML. Judge.Source is the text as given; Judge.Settings holds what is
// not in the version. An error is CodeInvalid, begins with the line ("line 7: ...") and has the hint
// what to do.
func Parse(text []byte, env Env) (assay.Judge, assay.JudgeVersion, error) {
	d := &draft{env: env, blocks: map[assay.JudgeKind]*yaml.Node{}}
	v, err := d.parse(text)
	if err != nil {
		return assay.Judge{}, assay.JudgeVersion{}, err
	}
	j := assay.Judge{Name: d.name.Text, Description: d.description, Version: v.ID, Source: string(text)}
	if d.settings != nil {
		if j.Settings, err = json.Marshal(d.settings); err != nil {
			return assay.Judge{}, assay.JudgeVersion{}, assay.Errorf(assay.CodeInternal, "write the judge's settings: %w", err)
		}
	}
	return j, v, nil
}

func (d *draft) parse(text []byte) (assay.JudgeVersion, error) {
	var none assay.JudgeVersion
	var err error
	if d.root, err = definition.Load(text, form); err != nil {
		return none, err
	}
	for _, step := range []func() error{d.read, d.checkHead, d.checkCriteria, d.checkFields} {
		if err := step(); err != nil {
			return none, err
		}
	}
	def := judge.Definition{Kind: assay.JudgeKind(d.kind.Text), Unit: d.unitKind(), Criteria: d.criteria}
	def.MadeWith = madeWith(def.Kind, def.Unit)
	for _, f := range d.fields {
		def.Fields = append(def.Fields, f.Text)
	}
	rule, err := judge.NewPassRule(strings.TrimSpace(d.pass.Text), judge.RolledUp(d.criteria))
	if err != nil {
		place := d.pass.Node
		if place == nil {
			place = d.root
		}
		return none, definition.Within(place, err)
	}
	def.Pass = rule.Expr()
	switch def.Kind {
	case assay.JudgeRules:
		err = d.rules(def)
	case assay.JudgeCommand:
		err = d.command(def)
	case assay.JudgeLLM:
		err = d.llm(def)
	}
	if err != nil {
		return none, err
	}
	if def.Spec, err = json.Marshal(d.spec); err != nil {
		return none, assay.Errorf(assay.CodeInternal, "write the judge's definition: %w", err)
	}
	return def.Version(d.alias)
}

func (d *draft) read() error {
	block := func(kind assay.JudgeKind) func(*yaml.Node) error {
		return func(n *yaml.Node) error { d.blocks[kind] = n; return nil }
	}
	return mapping(d.root, "a judge", definition.Fields{
		"name":        d.name.Into("name"),
		"description": definition.Text(&d.description, "description"),
		"kind":        d.kind.Into("kind"),
		"unit":        d.unit.Into("unit"),
		"pass":        d.pass.Into("pass"),
		"criteria": func(n *yaml.Node) error {
			return definition.Each(n, "criteria", "begin each with `- name:`", d.criterion)
		},
		"fields": func(n *yaml.Node) error {
			return definition.Each(n, "fields", "for instance [metadata.tier]", func(n *yaml.Node) error {
				var s definition.Source
				err := s.Into("an entry of fields")(n)
				d.fields = append(d.fields, s)
				return err
			})
		},
		string(assay.JudgeRules):   block(assay.JudgeRules),
		string(assay.JudgeCommand): block(assay.JudgeCommand),
		string(assay.JudgeLLM):     block(assay.JudgeLLM),
	})
}

func (d *draft) criterion(n *yaml.Node) error {
	c := assay.Criterion{Evidence: assay.EvidenceOptional}
	var typ, evidence, rollUp string
	err := mapping(n, "a criterion", definition.Fields{
		"name":          definition.Text(&c.Name, "name"),
		"type":          definition.Text(&typ, "type"),
		"question":      definition.Text(&c.Question, "question"),
		"values":        definition.Texts(&c.Values, "values", "for instance [bad, fair, good]"),
		"min":           definition.Number(&c.Min, "min"),
		"max":           definition.Number(&c.Max, "max"),
		"may_not_apply": definition.Bool(&c.MayNotApply, "may_not_apply"),
		"may_abstain":   definition.Bool(&c.MayAbstain, "may_abstain"),
		"evidence":      definition.Text(&evidence, "evidence"),
		"roll_up":       definition.Text(&rollUp, "roll_up"),
	})
	if err != nil {
		return err
	}
	c.Type, c.RollUp = assay.CriterionType(typ), assay.RollUp(rollUp)
	if evidence != "" {
		c.Evidence = assay.EvidenceRule(evidence)
	}
	d.criteria = append(d.criteria, c)
	d.places = append(d.places, n)
	return nil
}

var judgeName = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?$`)

var kindNames = []string{string(assay.JudgeRules), string(assay.JudgeCommand), string(assay.JudgeLLM)}

func (d *draft) checkHead() error {
	orRoot := func(n *yaml.Node) *yaml.Node {
		if n == nil {
			return d.root
		}
		return n
	}
	switch {
	case d.name.Text == "":
		return definition.At(orRoot(d.name.Node), "the judge has no name").WithHint("write `name: …`; runs and reports call it by that")
	case !judgeName.MatchString(d.name.Text):
		return definition.At(d.name.Node, "the name %.80q is not valid", d.name.Text).WithHint("use 1 to 64 characters: a-z, 0-9, dot, dash, underscore; begin and end with a letter or a digit")
	case d.kind.Text == "":
		return definition.At(orRoot(d.kind.Node), "the judge has no kind").WithHint("write `kind: rules`, `kind: command` or `kind: llm`")
	case !slices.Contains(kindNames, d.kind.Text):
		return definition.At(d.kind.Node, "kind %.40q is not known%s", d.kind.Text, definition.Nearest(d.kind.Text, kindNames)).WithHint("use rules, command or llm")
	}
	switch units := []string{string(assay.UnitSession), string(assay.UnitTurn), string(assay.UnitToolCall)}; {
	case !slices.Contains(units, string(d.unitKind())):
		return definition.At(d.unit.Node, "unit %.40q is not known%s", d.unit.Text, definition.Nearest(d.unit.Text, units)).WithHint("drop it, or write session, turn or tool_call")
	case d.unitKind() != assay.UnitSession && d.kind.Text != string(assay.JudgeLLM):
		return definition.At(d.unit.Node, "unit %s is not supported by judges of the kind %s, which answer about a whole session", d.unit.Text, d.kind.Text).
			WithHint("drop `unit`, and answer about all of them at once; a judge of the kind llm can be asked about each")
	}
	for kind, block := range d.blocks {
		if string(kind) != d.kind.Text {
			return definition.At(block, "the judge is of the kind %s and has a block %s", d.kind.Text, kind).WithHint("drop the block, or set `kind: %s`", kind)
		}
	}
	if d.blocks[assay.JudgeKind(d.kind.Text)] == nil {
		return definition.At(d.kind.Node, "the judge is of the kind %s and has no block %s", d.kind.Text, d.kind.Text).WithHint("write `%s:` with its fields", d.kind.Text)
	}
	return nil
}

func (d *draft) unitKind() assay.UnitKind {
	if d.unit.Text == "" {
		return assay.UnitSession
	}
	return assay.UnitKind(d.unit.Text)
}

func (d *draft) checkCriteria() error {
	if len(d.criteria) == 0 {
		return definition.At(d.root, "the judge has no criteria").WithHint("ask at least one question under `criteria:`")
	}
	for i, c := range d.criteria {
		if c.Name == "" {
			return definition.At(d.places[i], "criterion %d has no name", i+1).WithHint("write `- name: …`")
		}
		if c.Type == "" {
			return definition.At(d.places[i], "criterion %q has no type", c.Name).WithHint("write `type: boolean`, ordinal, number or category")
		}
		if err := judge.CheckCriterion(c); err != nil {
			return definition.Within(d.places[i], err)
		}
		if err := judge.CheckRollUp(c, d.unitKind()); err != nil {
			return definition.Within(d.places[i], err)
		}
		if slices.ContainsFunc(d.criteria[:i], func(o assay.Criterion) bool { return o.Name == c.Name }) {
			return definition.At(d.places[i], "criterion %q is there twice", c.Name).WithHint("rename one of them")
		}
		if d.kind.Text == string(assay.JudgeLLM) && strings.TrimSpace(c.Question) == "" {
			return definition.At(d.places[i], "criterion %q has no question, and a model must be asked something", c.Name).WithHint("write `question: …`, for instance \"Was the user's problem solved?\"")
		}
	}
	return nil
}

func (d *draft) checkFields() error {
	for _, f := range d.fields {
		if err := judge.CheckField(assay.JudgeKind(d.kind.Text), f.Text); err != nil {
			return definition.Within(f.Node, err)
		}
	}
	return nil
}
