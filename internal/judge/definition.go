package judge

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"assay/internal/assay"
)

// Definition is a judge version in full: everything that can change an answer and nothing else.
// Its JSON is canonical (Go's field order, map keys sorted) and the version's id is the hash of it.
// A name, a description, the layout of the YAML, a key's source, a timeout or a concurrency is
// never part of it.
type Definition struct {
	Format   string            `json:"format"`
	Kind     assay.JudgeKind   `json:"kind"`
	Unit     assay.UnitKind    `json:"unit"`
	Criteria []assay.Criterion `json:"criteria"`         // as they are asked about a unit
	Pass     string            `json:"pass,omitempty"`   // CEL over the criteria as rolled up, resolved; "" means that there is none
	Fields   []string          `json:"fields,omitempty"` // hidden fields that are shown all the same, sorted
	MadeWith map[string]string `json:"made_with"`        // versions of the parts of this program that shape an answer
	Spec     json.RawMessage   `json:"spec"`             // the kind's own part
}

// DefinitionFormat names the canonical form.
const DefinitionFormat = "assay.judge/1"

// Version hashes d; it lists the criteria as they are answered for the session. alias says that the
// model's name carries no date.
func (d Definition) Version(alias bool) (assay.JudgeVersion, error) {
	d.Format = DefinitionFormat
	d.Fields = slices.Clone(d.Fields)
	slices.Sort(d.Fields)
	d.Fields = slices.Compact(d.Fields)
	canonical, err := json.Marshal(d)
	if err != nil {
		return assay.JudgeVersion{}, assay.Errorf(assay.CodeInvalid, "write the judge's canonical form: %w", err)
	}
	sum := sha256.Sum256(canonical)
	return assay.JudgeVersion{
		ID: assay.Hash(hex.EncodeToString(sum[:])), Kind: d.Kind, Unit: d.Unit,
		Criteria: RolledUp(d.Criteria), Alias: alias, Canonical: canonical,
	}, nil
}

// ReadDefinition reads the canonical form of a stored version. madeWith are the versions of this
// program's parts: a version that another one made is refused, because its id would promise answers
// that this program cannot give.
func ReadDefinition(v assay.JudgeVersion, madeWith map[string]string) (Definition, error) {
	var d Definition
	if err := json.Unmarshal(v.Canonical, &d); err != nil {
		return d, assay.Errorf(assay.CodeInternal, "read judge version %s: %w", v.ID, err)
	}
	if d.Format != DefinitionFormat {
		return d, assay.Errorf(assay.CodeInvalid, "judge version %s has the form %q, which this program does not know", v.ID, d.Format).
			WithHint("apply the judge again with `assay judge apply`")
	}
	for part, made := range d.MadeWith {
		if now := madeWith[part]; now != made {
			return d, assay.Errorf(assay.CodeInvalid, "judge version %s was made with %s %s, this program has %q", v.ID, part, made, now).
				WithHint("apply the judge again with `assay judge apply`: that makes a new version, and old verdicts stay")
		}
	}
	return d, nil
}
