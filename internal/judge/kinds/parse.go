package kinds

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"assay/internal/assay"
	"assay/internal/judge"
)

// draft is a definition on its way from YAML.
type draft struct {
	env         Env
	name        source
	description string
	kind        source
	unit        source
	pass        source
	fields      []source
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
	j := assay.Judge{Name: d.name.text, Description: d.description, Version: v.ID, Source: string(text)}
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
	if d.root, err = load(text); err != nil {
		return none, err
	}
	for _, step := range []func() error{d.read, d.checkHead, d.checkCriteria, d.checkFields} {
		if err := step(); err != nil {
			return none, err
		}
	}
	def := judge.Definition{Kind: assay.JudgeKind(d.kind.text), Unit: d.unitKind(), Criteria: d.criteria}
	def.MadeWith = madeWith(def.Kind, def.Unit)
	for _, f := range d.fields {
		def.Fields = append(def.Fields, f.text)
	}
	rule, err := judge.NewPassRule(strings.TrimSpace(d.pass.text), judge.RolledUp(d.criteria))
	if err != nil {
		place := d.pass.node
		if place == nil {
			place = d.root
		}
		return none, within(place, err)
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
	return mapping(d.root, "a judge", fields{
		"name":        intoSource(&d.name, "name"),
		"description": intoText(&d.description, "description"),
		"kind":        intoSource(&d.kind, "kind"),
		"unit":        intoSource(&d.unit, "unit"),
		"pass":        intoSource(&d.pass, "pass"),
		"criteria": func(n *yaml.Node) error {
			return each(n, "criteria", "begin each with `- name:`", d.criterion)
		},
		"fields": func(n *yaml.Node) error {
			return each(n, "fields", "for instance [metadata.tier]", func(n *yaml.Node) error {
				var s source
				err := intoSource(&s, "an entry of fields")(n)
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
	err := mapping(n, "a criterion", fields{
		"name":          intoText(&c.Name, "name"),
		"type":          intoText(&typ, "type"),
		"question":      intoText(&c.Question, "question"),
		"values":        intoTexts(&c.Values, "values", "for instance [bad, fair, good]"),
		"min":           intoNumber(&c.Min, "min"),
		"max":           intoNumber(&c.Max, "max"),
		"may_not_apply": intoBool(&c.MayNotApply, "may_not_apply"),
		"may_abstain":   intoBool(&c.MayAbstain, "may_abstain"),
		"evidence":      intoText(&evidence, "evidence"),
		"roll_up":       intoText(&rollUp, "roll_up"),
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
	case d.name.text == "":
		return at(orRoot(d.name.node), "the judge has no name").WithHint("write `name: …`; runs and reports call it by that")
	case !judgeName.MatchString(d.name.text):
		return at(d.name.node, "the name %.80q is not valid", d.name.text).WithHint("use 1 to 64 characters: a-z, 0-9, dot, dash, underscore; begin and end with a letter or a digit")
	case d.kind.text == "":
		return at(orRoot(d.kind.node), "the judge has no kind").WithHint("write `kind: rules`, `kind: command` or `kind: llm`")
	case !slices.Contains(kindNames, d.kind.text):
		return at(d.kind.node, "kind %.40q is not known%s", d.kind.text, judge.Nearest(d.kind.text, kindNames)).WithHint("use rules, command or llm")
	}
	switch units := []string{string(assay.UnitSession), string(assay.UnitTurn), string(assay.UnitToolCall)}; {
	case !slices.Contains(units, string(d.unitKind())):
		return at(d.unit.node, "unit %.40q is not known%s", d.unit.text, judge.Nearest(d.unit.text, units)).WithHint("drop it, or write session, turn or tool_call")
	case d.unitKind() != assay.UnitSession && d.kind.text != string(assay.JudgeLLM):
		return at(d.unit.node, "unit %s is not supported by judges of the kind %s, which answer about a whole session", d.unit.text, d.kind.text).
			WithHint("drop `unit`, and answer about all of them at once; a judge of the kind llm can be asked about each")
	}
	for kind, block := range d.blocks {
		if string(kind) != d.kind.text {
			return at(block, "the judge is of the kind %s and has a block %s", d.kind.text, kind).WithHint("drop the block, or set `kind: %s`", kind)
		}
	}
	if d.blocks[assay.JudgeKind(d.kind.text)] == nil {
		return at(d.kind.node, "the judge is of the kind %s and has no block %s", d.kind.text, d.kind.text).WithHint("write `%s:` with its fields", d.kind.text)
	}
	return nil
}

func (d *draft) unitKind() assay.UnitKind {
	if d.unit.text == "" {
		return assay.UnitSession
	}
	return assay.UnitKind(d.unit.text)
}

func (d *draft) checkCriteria() error {
	if len(d.criteria) == 0 {
		return at(d.root, "the judge has no criteria").WithHint("ask at least one question under `criteria:`")
	}
	for i, c := range d.criteria {
		if c.Name == "" {
			return at(d.places[i], "criterion %d has no name", i+1).WithHint("write `- name: …`")
		}
		if c.Type == "" {
			return at(d.places[i], "criterion %q has no type", c.Name).WithHint("write `type: boolean`, ordinal, number or category")
		}
		if err := judge.CheckCriterion(c); err != nil {
			return within(d.places[i], err)
		}
		if err := judge.CheckRollUp(c, d.unitKind()); err != nil {
			return within(d.places[i], err)
		}
		if slices.ContainsFunc(d.criteria[:i], func(o assay.Criterion) bool { return o.Name == c.Name }) {
			return at(d.places[i], "criterion %q is there twice", c.Name).WithHint("rename one of them")
		}
		if d.kind.text == string(assay.JudgeLLM) && strings.TrimSpace(c.Question) == "" {
			return at(d.places[i], "criterion %q has no question, and a model must be asked something", c.Name).WithHint("write `question: …`, for instance \"Was the user's problem solved?\"")
		}
	}
	return nil
}

func (d *draft) checkFields() error {
	for _, f := range d.fields {
		if err := judge.CheckField(assay.JudgeKind(d.kind.text), f.text); err != nil {
			return within(f.node, err)
		}
	}
	return nil
}
