package e2e

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/api"
	"assay/internal/api/client"
	"assay/internal/assay"
	"assay/internal/harness/shim/shimtest"
	"assay/internal/store"
)

const installPromptfoo = "internal/e2e/testdata/promptfoo/install"

// promptfoo is a folder with the example of docs/SUITES.md in it, beside the real promptfoo.
func promptfoo(t *testing.T) (dir string) {
	t.Helper()
	missing := t.Skipf
	if os.Getenv("CI") != "" {
		missing = t.Fatalf
	}
	if _, err := exec.LookPath("node"); err != nil {
		missing("no promptfoo: %v", err)
	}
	modules, err := filepath.Abs("testdata/promptfoo/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(modules, ".all")); err != nil {
		missing("no promptfoo: `%s` brings it (npm, 350 MB)", installPromptfoo)
	}
	dir = t.TempDir()
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"promptfooconfig.yaml", "assay.yaml"} {
		write(t, filepath.Join(dir, file), documented(t, "yaml\n# "+file+"\n"))
	}
	return dir
}

// documented is the block of docs/SUITES.md that begins so.
func documented(t *testing.T, begin string) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/SUITES.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "```"+begin)
	text, _, closed := strings.Cut(rest, "```\n")
	if !found || !closed {
		t.Fatalf("docs/SUITES.md has no block that begins with %q", begin)
	}
	return text
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// change replaces a text that must be there.
func change(t *testing.T, file, from, to string) {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), from) {
		t.Fatalf("%s does not hold %q", file, from)
	}
	write(t, file, strings.ReplaceAll(string(raw), from, to))
}

// outside stands where the network would be: it lets nobody through, and keeps who was asked for.
type outside struct {
	mu    sync.Mutex
	asked []string
}

func (o *outside) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked = append(o.asked, r.Method+" "+r.Host)
	w.WriteHeader(http.StatusForbidden)
}

// TestPromptfooIsASuite runs the example of docs/SUITES.md, and two changes of it, as its reader would.
func TestPromptfooIsASuite(t *testing.T) {
	t.Parallel()
	dir := promptfoo(t)
	var net outside
	proxy := httptest.NewServer(&net)
	t.Cleanup(proxy.Close)
	w := newWorld(t, "")
	w.env = []string{"HTTPS_PROXY=" + proxy.URL}
	t.Cleanup(func() { shimtest.EndAll(t, w.dir) })
	c, _ := w.serve()
	definition := filepath.Join(dir, "assay.yaml")
	w.ok("suite", "apply", definition)

	// Three tests, of which one fails: promptfoo ends with 100, the success rule takes that and asks for more passes.
	r := w.run("suite", "run", "refunds", "-f")
	first := w.promptfooRun("r1", assay.RunFailed, assay.ReasonCasesFailed, 100, 3, 0)
	if why := strings.TrimSpace(documented(t, "output\n")); r.code != 1 || !strings.Contains(r.err, "r1 failed: "+why) || !strings.HasPrefix(first.Sentence, why) {
		t.Errorf("exit %d, want 1 and %q\n%s\n%s", r.code, why, r.err, first.Sentence)
	}
	log := w.ok("logs", "r1", "--plain")
	for _, said := range []string{"Running 3 test cases", "2 passed", "1 failed", "Writing output to results.json"} {
		if !strings.Contains(log, said) || !strings.Contains(r.out+r.err, said) {
			t.Errorf("promptfoo's %q is not in the log and in what -f printed:\n%s\n%s%s", said, log, r.out, r.err)
		}
	}
	before := w.cases(c, first.ID)
	checkCase(t, before, "both are named", true, map[string]bool{"contains: 12 EUR": true, "names the time": true})
	checkCase(t, before, "one is enough", true, map[string]bool{"contains: 12 EUR": true, "names the time": false})
	checkCase(t, before, "too much", false, map[string]bool{"not-contains: everything": false, "names the time": true})

	// Two of them, which pass: they have their names of before.
	w.ok("suite", "run", "refunds", "--param", "only=named|enough")
	after := w.cases(c, w.promptfooRun("r2", assay.RunCompleted, assay.ReasonDone, 0, 2, 0).ID)
	for name, v := range after {
		if v.Key != before[name].Key || v.Repeat != 0 {
			t.Errorf("%s is %q %d, and was %q", name, v.Key, v.Repeat, before[name].Key)
		}
	}
	checkCase(t, after, "one is enough", true, map[string]bool{"contains: 12 EUR": true, "names the time": false})

	// One more that breaks, and a rule that allows all that: exit code 100 stays, and the run completes.
	change(t, filepath.Join(dir, "promptfooconfig.yaml"), "tests:\n", "tests:\n  - {description: breaks, vars: {amount: '{{ when | nosuch }}'}}\n")
	change(t, definition, "max_errored: 0, min_pass_rate: 0.9", "max_errored: 1, min_pass_rate: 0.6")
	w.ok("suite", "apply", definition)
	w.ok("suite", "run", "refunds")
	broken := w.cases(c, w.promptfooRun("r3", assay.RunCompleted, assay.ReasonDone, 100, 3, 1).ID)
	if v := broken["breaks"]; v.State != assay.ItemErrored || v.Class != assay.ClassCaseError || v.Pass != nil || !strings.Contains(v.Error, "filter not found: nosuch") {
		t.Errorf("the case that breaks: %+v", v)
	}

	// One that waits between its tests is cancelled: nothing of it lives, and results of before are not its own.
	change(t, definition, "--no-table", "--no-table, --delay, 600000")
	w.ok("suite", "apply", definition)
	id := run(t, c, "refunds")
	slowly(t, time.Minute, "promptfoo runs", func() bool { return strings.Contains(w.ok("logs", id.String()), "Running 4 test cases") })
	harness := w.view(id.String()).Harness.PID
	if left := w.promptfoos(); !slices.Equal(left, []int{harness}) {
		t.Errorf("processes %v, want %d", left, harness)
	}
	w.ok("cancel", id.String())
	if v := ended(t, w, id, time.Minute); v.State != assay.RunCancelled || v.Counts.Total != 0 {
		t.Errorf("%s: %s, %+v", v.State, v.Sentence, v.Counts)
	}
	if left := w.promptfoos(); len(left) > 0 || !gone(harness) {
		t.Errorf("%d is left, or %v", harness, left)
	}

	// It tells its makers that its telemetry is off, and can be told no better. It asked for nothing else.
	net.mu.Lock()
	defer net.mu.Unlock()
	for _, asked := range net.asked {
		if asked != "CONNECT r.promptfoo.app:443" {
			t.Errorf("promptfoo asked for %s", asked)
		}
	}
}

// promptfooRun checks how a run ended and that none of its processes is left.
func (w *world) promptfooRun(id string, state assay.RunState, reason assay.Reason, code int, graded, errored int64) api.RunView {
	w.t.Helper()
	v := w.view(id)
	if v.State != state || v.Reason != reason || v.Harness.Exit == nil || v.Harness.Exit.Code != code {
		w.t.Fatalf("%s %s %s, want %s %s: %s\n%+v\n%s", id, v.State, v.Reason, state, reason, v.Sentence, v.Harness.Exit, w.ok("logs", id))
	}
	if v.Counts.Graded != graded || v.Counts.Errored != errored || v.Counts.Total != graded+errored {
		w.t.Errorf("%s: %+v, want %d graded and %d errored", id, v.Counts, graded, errored)
	}
	if left := w.promptfoos(); len(left) > 0 {
		w.t.Errorf("%s has ended, and %v are left", id, left)
	}
	return v
}

// promptfoos are the processes with the environment of this world's suite.
func (w *world) promptfoos() (pids []int) {
	w.t.Helper()
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, file := range all {
		env, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended, or is somebody else's
		}
		vars := strings.Split(string(env), "\x00")
		if slices.Contains(vars, "HOME="+w.dir) && slices.Contains(vars, "PROMPTFOO_CONFIG_DIR=.promptfoo") {
			pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			if err != nil {
				w.t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

// cases reads a run's cases over the network, by the descriptions of their tests. The command prints the same.
func (w *world) cases(c *client.Client, id assay.RunID) map[string]assay.Case {
	w.t.Helper()
	page := must[api.Page[assay.Case]](w.t)(c.Cases(w.t.Context(), id, api.CaseQuery{Full: true}, store.Page{}))
	var printed []assay.Case
	for d := json.NewDecoder(strings.NewReader(w.ok("runs", "cases", id.String(), "--json"))); d.More(); {
		var v assay.Case
		if err := d.Decode(&v); err != nil {
			w.t.Fatal(err)
		}
		printed = append(printed, v)
	}
	if !reflect.DeepEqual(printed, page.Items) {
		w.t.Errorf("runs cases %s prints\n%+v\nand the API says\n%+v", id, printed, page.Items)
	}
	out := map[string]assay.Case{}
	for _, v := range page.Items {
		name, _, _ := strings.Cut(v.Key, " ~")
		out[name] = v
	}
	return out
}

// checkCase checks a case's own pass and, beside it, what each of its assertions said.
func checkCase(t *testing.T, cases map[string]assay.Case, name string, pass bool, assertions map[string]bool) {
	t.Helper()
	v := cases[name]
	said := map[string]bool{}
	for _, f := range v.Findings {
		said[f.Criterion] = string(f.Value) == "true"
		if !f.Applies || f.Abstained || f.Reason == "" {
			t.Errorf("%s: %+v", name, f)
		}
	}
	if v.State != assay.ItemGraded || v.Pass == nil || *v.Pass != pass || !maps.Equal(said, assertions) {
		t.Errorf("%s: %+v, want pass %t and %v", name, v, pass, assertions)
	}
	if !strings.HasPrefix(v.Output, "You get ") || v.Output != v.Input || v.Model != "echo" {
		t.Errorf("%s: %s said %q to %q", name, v.Model, v.Output, v.Input)
	}
}
