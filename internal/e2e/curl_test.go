package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/store"
)

// The session with curl that docs/SUITES.md shows tells of a whole run.
func TestAHarnessTellsOfItselfWithCurl(t *testing.T) {
	for _, program := range []string{"curl", "base64", "sed", "sh"} {
		if _, err := exec.LookPath(program); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatal(err)
			}
			t.Skip(err)
		}
	}
	w := newWorld(t, "")
	c, server := w.serve()
	file := filepath.Join(t.TempDir(), "ci.sh")
	write(t, file, "#"+documented(t, "sh\n# ci.sh:"))
	cmd := exec.Command("sh", "-eu", file)
	address, _, _ := strings.Cut(server.err.String()[strings.Index(server.err.String(), "http://"):], "\n")
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "ASSAY_SERVER=" + address, "NO_PROXY=*"}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "3 cases\n") {
		t.Fatalf("%v\n%s", err, out)
	}
	v := must[api.RunView](t)(c.Run(t.Context(), 1))
	if v.State != assay.RunFailed || v.Reason != assay.ReasonExitCode || v.By != "ann" || v.Suite.Name != "ci" || v.Harness.Where != "runner 3" ||
		v.Sentence != "the harness ended with exit code 1; 3 cases: 1 passed, 1 failed, 1 errored" {
		t.Errorf("%s %s by %q: %s", v.State, v.Reason, v.By, v.Sentence)
	}
	if h := v.Harness; h.Progress == nil || h.Progress.Total != 3 || len(h.Metrics) != 1 || len(h.Links) != 1 || h.Experiment != "https://lab.example/e/7" || h.LogBytes != 8 {
		t.Errorf("%+v", h)
	}
	cases := must[api.Page[assay.Case]](t)(c.Cases(t.Context(), 1, api.CaseQuery{}, store.Page{}))
	if len(cases.Items) != 3 || cases.Items[1].Findings[0].Reason != "no greeting" || cases.Items[2].State != assay.ItemErrored {
		t.Errorf("%+v", cases.Items)
	}
}
