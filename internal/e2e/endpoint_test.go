package e2e

import (
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
)

// place is an address at which a model will answer later.
type place struct {
	t       *testing.T
	address string
	behind  string // the scripted model's address
}

func (w *world) place() *place {
	w.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	defer l.Close()
	return &place{w.t, l.Addr().String(), strings.TrimSuffix(w.model.BaseURL, "/v1")}
}

// open lets the model answer there.
func (p *place) open() {
	p.t.Helper()
	l, err := net.Listen("tcp", p.address)
	if err != nil {
		p.t.Fatal(err)
	}
	target, err := url.Parse(p.behind)
	if err != nil {
		p.t.Fatal(err)
	}
	proxy := &http.Server{Handler: httputil.NewSingleHostReverseProxy(target)}
	go func() { _ = proxy.Serve(l) }() // ErrServerClosed
	p.t.Cleanup(func() { proxy.Close() })
}

// A run whose endpoint is dead pauses with the reason and a time to wake. When the endpoint is back, a
// run goes on by itself at that time, or at once when a person resumes it, with one call that finds out
// before the others leave.
func TestADeadEndpointComesBack(t *testing.T) {
	t.Parallel()
	dead(t, func(w *world, wake time.Time) {
		eventually(t, time.Minute, "a call arrives", func() bool { return w.model.Count() > 0 })
		if early := wake.Sub(w.model.Records()[0].Arrived); early > 50*time.Millisecond {
			t.Errorf("it went on %s before its time", early)
		}
	})
}

func TestADeadEndpointIsResumed(t *testing.T) {
	t.Parallel()
	dead(t, func(w *world, _ time.Time) { w.ok("resume", "r1", "--detach") })
}

// dead pauses a run at a dead endpoint, which is back when goOn is called.
func dead(t *testing.T, goOn func(w *world, wake time.Time)) {
	w := newWorld(t, "")
	p := w.place()
	w.model.SetLatency(300 * time.Millisecond)
	w.ok("import", w.sessions(20))
	w.ok("judge", "apply", w.judgeAt("j", "http://"+p.address+"/v1"))
	grade := w.start("grade", "--judge", "j", "--concurrency", "8")
	eventually(t, 20*time.Second, "the run is accepted", func() bool { return strings.Contains(grade.err.String(), "r1") })
	var v api.RunView
	slowly(t, 40*time.Second, "the run pauses", func() bool { v = w.view("r1"); return v.State == assay.RunPaused })
	if v.Reason != assay.Reason(assay.ClassUnreachable) || v.WakeAt == nil || time.Until(*v.WakeAt) > time.Minute || !strings.Contains(v.Sentence, "nothing answers") || v.Counts.Pending != 20 {
		t.Errorf("%s until %v: %s; %+v", v.Reason, v.WakeAt, v.Sentence, v.Counts)
	}
	if v.Spend.Cost != 0 || v.Spend.Held != 0 || v.Spend.Usage.Known {
		t.Errorf("calls that reached nobody cost something: %+v", v.Spend)
	}
	p.open()
	goOn(w, *v.WakeAt)
	if code := grade.wait(time.Minute); code != 0 {
		t.Errorf("grade ended with %d: %s", code, grade.err)
	}
	if v := w.view("r1"); v.State != assay.RunCompleted || v.Counts.Graded != 20 {
		t.Errorf("%s %s: %+v", v.State, v.Sentence, v.Counts)
	}
	if records := w.model.Records(); len(records) != 20 || !records[1].Arrived.After(records[0].Finished) {
		t.Errorf("%d calls; the second left %s before the first was answered", len(records), records[0].Finished.Sub(records[1].Arrived))
	}
}
