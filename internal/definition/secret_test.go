package definition

import (
	"strings"
	"testing"
)

func TestACommandGetsOnlyListedVariables(t *testing.T) {
	env := SecretEnv(func(name string) (string, bool) {
		return "v", name == "HOME" || name == "OPENAI_API_KEY" || name == "PATH"
	})
	if strings.Join(env, " ") != "PATH=v HOME=v" {
		t.Errorf("%q", env)
	}
}
