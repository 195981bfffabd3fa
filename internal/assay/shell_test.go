package assay

import (
	"os/exec"
	"testing"

	"pgregory.net/rapid"
)

func TestAShellReadsWhatWasMeant(t *testing.T) {
	for arg, want := range map[string]string{"": "''", "a": "a", "--n=3": "--n=3", "a b": "'a b'", "it's": `'it'\''s'`, "~": "'~'", "é/%x": "é/%x", "$HOME": "'$HOME'"} {
		if got := ShellWord(arg); got != want {
			t.Errorf("%q: %s, want %s", arg, got, want)
		}
	}
	if got := ShellLine([]string{"x", "", "a b"}); got != "x '' 'a b'" {
		t.Error(got)
	}
	piece := rapid.SampledFrom([]string{"a", " ", "'", `"`, `\`, "$(id)", "`id`", "*", "~", "#", "!", "&", ";", "|", ">", "\n", "é", "=", "-", "{a,b}", "[x]", "%s"})
	rapid.Check(t, func(t *rapid.T) {
		var arg string
		for _, p := range rapid.SliceOfN(piece, 0, 6).Draw(t, "pieces") {
			arg += p
		}
		out, err := exec.Command("/bin/sh", "-c", "printf %s "+ShellWord(arg)).Output()
		if err != nil || string(out) != arg {
			t.Fatalf("%q came as %q, %v", arg, out, err)
		}
	})
}
