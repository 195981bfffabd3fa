package define

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"assay/internal/assay"
)

// versionFormat names the canonical form.
const versionFormat = "assay.suite/1"

// canonical is everything of a definition that can change what a run does or how its cases are read.
// Its JSON is canonical: Go's field order, map keys sorted, lists sorted where their order means nothing.
type canonical struct {
	Format  string             `json:"format"`
	Command []string           `json:"command"`
	Dir     string             `json:"dir"`
	Params  []assay.SuiteParam `json:"params,omitempty"`
	Env     assay.SuiteEnv     `json:"env"`
	Success assay.SuccessRule  `json:"success"`
	Results []assay.ResultFile `json:"results,omitempty"`
}

// Version is the id of a definition. Texts for people, alarms, limits of time, what is kept of the log,
// what a machine needs and what becomes of a lost run are no part of it: they change neither what a
// run does nor how its cases are read.
func Version(d assay.SuiteDefinition) (assay.Hash, error) {
	c := canonical{Format: versionFormat, Command: d.Command, Dir: d.Dir, Env: d.Env, Success: d.Success, Results: d.Results}
	for _, p := range d.Params {
		p.Description = ""
		c.Params = append(c.Params, p)
	}
	c.Env.Pass = slices.SortedFunc(slices.Values(d.Env.Pass), func(a, b assay.PassEnv) int { return cmp.Compare(a.Name, b.Name) })
	c.Env.Secrets = slices.SortedFunc(slices.Values(d.Env.Secrets), func(a, b assay.SecretEnv) int { return cmp.Compare(a.Name, b.Name) })
	text, err := json.Marshal(c)
	if err != nil {
		return "", assay.Errorf(assay.CodeInvalid, "write the suite's canonical form: %w", err)
	}
	sum := sha256.Sum256(text)
	return assay.Hash(hex.EncodeToString(sum[:])), nil
}
