package harness

import (
	"encoding/json"
	"slices"
	"strings"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/harness/define"
)

// Resolver makes command lines of suites. A suite that needs a capability which is not among those given is
// refused.
func Resolver(capabilities ...string) engine.SuiteResolver { return resolver{capabilities} }

type resolver struct{ capabilities []string }

// Resolve implements engine.SuiteResolver.
func (r resolver) Resolve(s assay.Suite, given map[string]json.RawMessage, source assay.ParamSource) ([]assay.ParamValue, []string, error) {
	if err := capable(s.Def, r.capabilities); err != nil {
		return nil, nil, err
	}
	values, err := define.Resolve(s.Def, given, source)
	if err != nil {
		return nil, nil, err
	}
	return values, define.Argv(s.Def, values), nil
}

// capable refuses a suite that needs what this machine does not have.
func capable(def assay.SuiteDefinition, has []string) error {
	var missing []string
	for _, need := range def.Needs {
		if !slices.Contains(has, need) {
			missing = append(missing, need)
		}
	}
	if missing == nil {
		return nil
	}
	return assay.Errorf(assay.CodeRefused, "the suite needs %s, which this machine does not have", strings.Join(missing, ", ")).
		WithHint("start the server with `--capability %s` where that is there", missing[0])
}
