package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/internal/assay"
)

// A server is stopped while people look on, and one of them owns its data then: a new server has them at once,
// carries the run on, and those who look see its end.
func TestLookingKeepsNoServerFromComingBack(t *testing.T) {
	onEach(t, func(t *testing.T, w *world) {
		dir := w.suite("steady", "echo one\nread x < go\necho two\n", "")
		release := fifo(t, dir)
		c, first := w.serve()
		id := run(t, c, "steady")
		slowly(t, 20*time.Second, "the harness runs", func() bool { return strings.Contains(w.ok("logs", id.String()), "one") })
		watch, follow := w.start("watch", id.String()), w.start("logs", id.String(), "-f")
		slowly(t, 20*time.Second, "they look on", func() bool {
			return strings.Contains(watch.err.String(), "executing") && strings.Contains(follow.err.String(), "one")
		})
		if err := first.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if code := first.wait(20 * time.Second); code != 0 {
			t.Errorf("the first server ended with %d:\n%s", code, first.err)
		}
		slowly(t, 20*time.Second, "watch goes on", func() bool { return w.view(id.String()).Epoch == 2 })
		begun := time.Now()
		_, second := w.serve()
		slowly(t, 20*time.Second, "the second server drives", func() bool { return w.view(id.String()).Epoch == 3 })
		t.Logf("the second server drives after %s", time.Since(begun))
		slowly(t, 20*time.Second, "watch says so", func() bool { return strings.Contains(watch.err.String(), "`assay serve` (pid") })
		release()
		for name, p := range map[string]*process{"watch": watch, "logs": follow} {
			if code := p.wait(30 * time.Second); code != 0 {
				t.Errorf("%s ended with %d:\n%s", name, code, p.err)
			}
		}
		v := w.view(id.String())
		if v.State != assay.RunCompleted || v.Epoch != 3 || keepLines(follow.err.String(), "one", "two") != "one\ntwo\n" {
			t.Errorf("%s at epoch %d; followed\n%s", v.State, v.Epoch, follow.err)
		}
		if strings.Contains(second.err.String(), "level=ERROR") {
			t.Errorf("%s", second.err)
		}
	})
}
