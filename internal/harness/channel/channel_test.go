package channel

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"assay/internal/harness/report"
	"assay/internal/logs"
)

// What is in the channel when it is closed is taken, whoever holds it open still, masked; what is no report is
// complained about, a few times, and harms nothing behind it.
func TestWhatIsReported(t *testing.T) {
	secrets, err := logs.NewMasker([]string{"hunter2-hunter2"})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "report")
	c, theirs, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	var got, complaints []string
	c.Listen(secrets, func(e report.Event) {
		switch {
		case e.Progress != nil:
			got = append(got, fmt.Sprint(e.Progress.Done, "/", e.Progress.Total))
		case e.Metric != nil:
			got = append(got, e.Metric.Name)
		case e.Link != nil:
			got = append(got, e.Link.URL)
		}
	}, func(why string) { complaints = append(complaints, why) })
	fmt.Fprint(theirs, "progress 1/2\n\n \t\n", strings.Repeat("x", 3*report.MaxLine), "\n", "metric a 1\n")
	fmt.Fprint(theirs, strings.Repeat("nonsense hunter2-hunter2\n", 2*maxComplaints))
	theirs.Close() // the end that a program inherited, and closes
	again, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	fmt.Fprint(again, "link https://x.example/?key=hunter2-hunter2\nprogress 2/2") // without an end
	c.Close()
	if want := []string{"1/2", "a", "https://x.example/?key=****", "2/2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if text := strings.Join(complaints, "\n"); len(complaints) != maxComplaints || !strings.Contains(text, "longer than") || strings.Contains(text, "hunter2") {
		t.Errorf("%q", complaints)
	}
	if _, err := os.Lstat(path); err == nil {
		t.Error("it is left, and who opens it would wait for ever")
	}
	if got := c.Env(); !slices.Equal(got, []string{"ASSAY_REPORT=" + path, "ASSAY_REPORT_FD=3"}) {
		t.Errorf("%q", got)
	}
}

func TestAChannelThatCannotBeMade(t *testing.T) {
	if _, _, err := Open(filepath.Join(t.TempDir(), "none", "report")); err == nil || !strings.Contains(err.Error(), "report channel") {
		t.Errorf("%v", err)
	}
}
