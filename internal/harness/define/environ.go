package define

import (
	"cmp"
	"context"
	"maps"
	"regexp"
	"slices"
	"strings"

	"assay/internal/assay"
	"assay/internal/logs"
)

// leastSecret is what can be masked: shorter texts stand everywhere by chance. A passed variable whose
// name says that it is a secret is masked from leastPassed on.
const (
	leastSecret = 4
	leastPassed = 8
)

// mask stands for a secret.
const mask = "****"

// secretName is a name that says that its variable is a secret.
var secretName = regexp.MustCompile(`(?i)(^|_)(KEY|APIKEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)(_|$)`)

// Environ is the whole environment of a harness: nothing is inherited that the definition does not
// list. lookup reads the environment of this process. shown is the same for people, with secrets
// masked; secrets are the values to mask in output. The error names a secret that could not be read and
// never holds any part of one.
func Environ(ctx context.Context, def assay.SuiteDefinition, values []assay.ParamValue, lookup func(string) (string, bool)) (env, shown, secrets []string, err error) {
	env, secrets = plainEnv(def, values, lookup)
	for _, s := range def.Env.Secrets {
		text, err := readSecret(ctx, s, def.Dir, lookup)
		if err != nil {
			return nil, nil, nil, err
		}
		env = append(env, s.Name+"="+text)
		secrets = append(secrets, text)
	}
	hidden := map[string]bool{} // values that are too short to look for are hidden by their names
	for _, p := range def.Env.Pass {
		hidden[p.Name] = secretName.MatchString(p.Name) || secretName.MatchString(p.From)
	}
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) }) // one may hold another
	secrets = slices.Compact(secrets)
	masker, err := logs.NewMasker(secrets)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, e := range env {
		name, text, _ := strings.Cut(e, "=")
		if hidden[name] {
			text = mask
		}
		shown = append(shown, name+"="+masker.Text(text))
	}
	return env, shown, secrets, nil
}

// plainEnv is the environment without the secrets that the definition names.
func plainEnv(def assay.SuiteDefinition, values []assay.ParamValue, lookup func(string) (string, bool)) (env, secrets []string) {
	for _, p := range def.Env.Pass {
		from := p.From
		if from == "" {
			from = p.Name
		}
		text, set := "", false
		if lookup != nil {
			text, set = lookup(from)
		}
		if !set && p.Fallback == nil {
			continue
		}
		if !set {
			text = *p.Fallback
		} else if len(text) >= leastPassed && (secretName.MatchString(p.Name) || secretName.MatchString(from)) {
			secrets = append(secrets, text)
		}
		env = append(env, p.Name+"="+text)
	}
	for _, name := range slices.Sorted(maps.Keys(def.Env.Set)) {
		env = append(env, name+"="+def.Env.Set[name])
	}
	for _, p := range def.Params {
		if text, ok := valueOf(p.Name, values); ok && p.Env != "" {
			env = append(env, p.Env+"="+text)
		}
	}
	return env, secrets
}
