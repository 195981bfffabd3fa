package docstest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// nonsense puts an unknown field into each kind of mapping that a judge has.
var nonsense = []struct {
	at   *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`^name`), "nonsense: 1\nname"},
	{regexp.MustCompile(`(?m)^  - name`), "  - nonsense: 1\n    name"},
	{regexp.MustCompile(`(?m)^(llm|command):\n`), "$0  nonsense: 1\n"},
	{regexp.MustCompile(`(?m)^  refunded:\n`), "$0    nonsense: 1\n"},
}

// applyJudges applies every judge that docs/JUDGES.md shows and grades a session with those that need
// no network. Then it asks the program which fields there are: the page names each of them.
func applyJudges(t *testing.T, bin string) {
	dir := t.TempDir()
	p := pages(t)["docs/JUDGES.md"]
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range p.blocks {
		if b.language == "sh" {
			write("short.sh", strings.Join(b.lines, "\n"))
		}
	}
	write("s.jsonl", `{"format":"assay.session/1","user_id":"u","session_id":"s","turns":[{"messages":[{"role":"user","content":"Refund me."}]}]}`)
	if out, err := shell(t, bin, dir, "assay import s.jsonl").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	named := " " + strings.Join(p.code, " ") + " "
	for _, b := range p.blocks {
		if b.language != "yaml" {
			continue
		}
		text := strings.Join(b.lines, "\n")
		write("judge.yaml", text)
		script := "assay judge apply judge.yaml"
		if !strings.Contains(text, "kind: llm") {
			script = "assay grade --judge judge.yaml --session u/s"
		}
		if out, err := shell(t, bin, dir, script).CombinedOutput(); err != nil {
			t.Errorf("docs/JUDGES.md:%d: %v\n%s", b.line, err, out)
		}
		for _, place := range nonsense {
			wrong := place.at.ReplaceAllString(text, place.with)
			if wrong == text {
				continue
			}
			write("wrong.yaml", wrong)
			out, _ := shell(t, bin, dir, "assay judge apply wrong.yaml").CombinedOutput()
			_, fields, ok := strings.Cut(string(out), "hint: the fields are ")
			if !ok {
				t.Errorf("docs/JUDGES.md:%d: no list of fields is given for\n%s\n%s", b.line, wrong, out)
				continue
			}
			for _, field := range strings.FieldsFunc(fields, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' }) {
				if !strings.Contains(named, " "+field+" ") {
					t.Errorf("docs/JUDGES.md does not name the field %s", field)
				}
			}
		}
	}
}
