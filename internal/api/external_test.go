package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/store"
)

func external(t testing.TB, w *world) assay.RunID {
	t.Helper()
	r, err := w.tcp.StartExternal(t.Context(), "default", engine.ExternalRequest{Name: "ci", Argv: []string{"pytest"}, Where: "runner", PID: 7, Env: []string{"A=1"}, Stale: assay.Seconds(90 * time.Second)}, "")
	if err != nil || r.State != assay.RunRunning || r.Harness == nil || r.Harness.Where != "runner" || r.Suite.Stale.Duration() != 90*time.Second {
		t.Fatalf("start: %+v, %v", r, err)
	}
	return r.ID
}

func sendLog(t testing.TB, w *world, id assay.RunID, offset, gap int64, text string) (api.ExternalReported, error) {
	t.Helper()
	return w.tcp.SendReport(t.Context(), id, api.ExternalReport{Log: &api.SentLog{Offset: offset, Gap: gap, Data: []byte(text)}})
}

func TestAnExternalRunReportsAndEnds(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	id := external(t, w)
	out, err := w.tcp.SendReport(ctx, id, api.ExternalReport{})
	if err != nil || out.Sent != 0 || out.Stop || out.HeartbeatAt == nil {
		t.Fatalf("heartbeat: %+v, %v", out, err)
	}
	out, err = w.tcp.SendReport(ctx, id, api.ExternalReport{
		Progress: &api.ReportedProgress{Done: 3, Total: 20, Text: "cases"}, Metrics: []api.ReportedMetric{{Name: "eval/acc", Value: 0.5}},
		Links: []assay.Link{{URL: "https://x.example/1"}}, Log: &api.SentLog{Data: []byte("one\ntwo\n")},
	})
	if err != nil || out.Sent != 8 || out.Harness.LogBytes != 8 || out.Harness.LogLines != 2 || out.Harness.Progress.Total != 20 {
		t.Fatalf("report: %+v %+v, %v", out, out.Harness, err)
	}
	if m, err := w.tcp.Points(ctx, id, []string{"eval/acc"}, 0); err != nil || len(m) != 1 || len(m[0].Points) != 1 || m[0].Points[0].Value != 0.5 {
		t.Errorf("points: %+v, %v", m, err)
	}
	if m, err := w.tcp.Metrics(ctx, id); err != nil || len(m) != 1 {
		t.Errorf("metrics: %+v, %v", m, err)
	}
	no := false
	end := engine.Finish{Code: 0, Cases: []assay.Case{
		{Key: "a", State: assay.ItemGraded, Pass: &no, Findings: []assay.Finding{{Criterion: "ok", Value: []byte("false"), Applies: true}}},
		{Key: "b", State: assay.ItemErrored, Error: "broke", Class: assay.ClassCaseError},
	}}
	r, err := w.tcp.Finish(ctx, id, end)
	if err != nil || r.State != assay.RunCompleted || r.Counts.Total != 2 || r.Counts.Errored != 1 || !strings.Contains(r.Sentence, "1 failed") {
		t.Fatalf("finish: %+v, %v", r, err)
	}
	if r, err = w.tcp.Finish(ctx, id, engine.Finish{Code: 3}); err != nil || r.State != assay.RunCompleted {
		t.Errorf("told twice: %+v, %v", r, err)
	}
	cases, err := w.tcp.Cases(ctx, id, api.CaseQuery{Pass: &no}, store.Page{})
	if err != nil || len(cases.Items) != 1 || cases.Items[0].Key != "a" || cases.Items[0].Run != id {
		t.Errorf("cases: %+v, %v", cases, err)
	}
	// What comes late is recorded and resurrects nothing.
	if out, err = sendLog(t, w, id, 8, 0, "late\n"); err != nil || out.State != assay.RunCompleted || out.Harness.LateAt == nil || out.Sent != 13 {
		t.Errorf("late: %+v %+v, %v", out, out.Harness, err)
	}
	grade := stocked(t, 1)
	g, err := grade.tcp.Grade(ctx, "default", engine.GradeRequest{Judges: []string{"good"}}, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = grade.tcp.SendReport(ctx, g.ID, api.ExternalReport{})
	holds(t, err, assay.CodeRefused)
	_, err = grade.tcp.Log(ctx, g.ID, 0, 0)
	holds(t, err, assay.CodeInvalid)
}

func TestACancelReachesAnExternalRun(t *testing.T) {
	w := newWorld(t)
	id := external(t, w)
	if _, err := w.tcp.Cancel(t.Context(), id, false); err != nil {
		t.Fatal(err)
	}
	out, err := sendLog(t, w, id, 0, 0, "x")
	if err != nil || !out.Stop {
		t.Fatalf("not told: %+v, %v", out, err)
	}
	if r, err := w.tcp.Finish(t.Context(), id, engine.Finish{Code: -1, Signal: "SIGTERM"}); err != nil || r.State != assay.RunCancelled {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestOneExclusiveExternalRun(t *testing.T) {
	w := newWorld(t)
	q := engine.ExternalRequest{Name: "ci", Exclusive: true}
	first, err := w.tcp.StartExternal(t.Context(), "default", q, "")
	if err != nil {
		t.Fatal(err)
	}
	_, err = w.tcp.StartExternal(t.Context(), "default", q, "")
	if e := holds(t, err, assay.CodeConflict); e.Details["run"] != first.ID.String() {
		t.Errorf("%+v", e)
	}
}

// A sender that does not know what arrived sends again, and what it lost it says.
func TestOutputIsTakenOnce(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	id := external(t, w)
	for _, step := range []struct {
		offset, gap int64
		text        string
		sent        int64
	}{
		{0, 0, "abcdef", 6}, {0, 0, "abcdef", 6}, {3, 0, "defghi", 9}, {1, 0, "bc", 9}, {9, 0, "\n", 10},
		{110, 100, "zz", 112}, {110, 100, "zz", 112}, {111, 0, "zyy", 114},
	} {
		out, err := sendLog(t, w, id, step.offset, step.gap, step.text)
		if err != nil || out.Sent != step.sent {
			t.Fatalf("%+v: sent %d, %v", step, out.Sent, err)
		}
	}
	_, err := sendLog(t, w, id, 200, 5, "never")
	if e := holds(t, err, assay.CodeInvalid); e.Details["log_sent"] != "114" {
		t.Errorf("%+v", e)
	}
	var raw bytes.Buffer
	if err := w.tcp.RawLog(ctx, id, &raw); err != nil {
		t.Fatal(err)
	}
	if want := "abcdefghi\n\n[assay: 100 bytes of output were lost before they could be sent]\nzzyy"; raw.String() != want {
		t.Errorf("log %q\nwant %q", raw.String(), want)
	}
}

// A server that was killed between the note of a gap and its mark in the log goes on right.
func TestAGapOutlivesACrash(t *testing.T) {
	w := newWorld(t)
	id := external(t, w)
	if _, err := sendLog(t, w, id, 0, 0, "abc\n"); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(w.dir, "runs", id.String())
	mark := "[assay: 6 bytes of output were lost before they could be sent]\n"
	base := `{"sent":10,"log":` + "67" + `,"mark":` + `"` + strings.TrimSuffix(mark, "\n") + `\n"}`
	if err := os.WriteFile(filepath.Join(dir, "received.json"), []byte(base), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := sendLog(t, w, id, 10, 6, "def"); err != nil || out.Sent != 13 {
		t.Fatalf("%+v, %v", out, err)
	}
	c, err := w.tcp.Log(t.Context(), id, 0, 0)
	if want := "abc\n" + mark + "def"; err != nil || c.Text != want {
		t.Errorf("%q, %v, want %q", c.Text, err, want)
	}
}

func TestALogIsReadSearchedAndFollowed(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	id := external(t, w)
	if c, err := w.tcp.Log(ctx, id, 0, 0); err != nil || c.To != 0 || c.End {
		t.Errorf("an empty log: %+v, %v", c, err)
	}
	if _, err := sendLog(t, w, id, 0, 0, "Zeile 1: äöü\n\x1b[31mError\x1b[0m: broken\n"); err != nil {
		t.Fatal(err)
	}
	c, err := w.tcp.Log(ctx, id, 10, 0) // in the middle of ö
	if err != nil || !strings.Contains(c.Text, "Error") || strings.ContainsRune(c.Text, '\ufffd') && c.From != 10 {
		t.Errorf("%+v, %v", c, err)
	}
	if c, err := w.tcp.LogTail(ctx, id, 1); err != nil || c.Line != 1 || !strings.HasPrefix(c.Text, "\x1b[31mError") {
		t.Errorf("tail: %+v, %v", c, err)
	}
	h, err := w.tcp.SearchLog(ctx, id, "error: b", 0, 0)
	if err != nil || len(h.Hits) != 1 || h.Hits[0].Line != 2 {
		t.Errorf("search: %+v, %v", h, err)
	}

	var got strings.Builder
	seen := make(chan string, 100)
	done := make(chan error, 1)
	go func() {
		done <- w.tcp.FollowLog(ctx, id, 0, func(c api.LogChunk) error {
			got.WriteString(c.Text)
			seen <- c.Text
			return nil
		})
	}()
	<-seen
	w.drop() // the connection breaks: the follower comes back, and misses nothing
	size := int64(len("Zeile 1: äöü\n\x1b[31mError\x1b[0m: broken\n"))
	for _, piece := range []string{"caf\xc3", "\xa9 ", "end\n"} {
		out, err := sendLog(t, w, id, size, 0, piece)
		if err != nil {
			t.Fatal(err)
		}
		size = out.Sent
	}
	if _, err := w.tcp.Finish(ctx, id, engine.Finish{}); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the stream does not end with its run")
	}
	if want := "Zeile 1: äöü\n\x1b[31mError\x1b[0m: broken\ncafé end\n"; got.String() != want {
		t.Errorf("followed %q, want %q", got.String(), want)
	}
	if c, err := w.tcp.Log(ctx, id, 0, 0); err != nil || !c.End {
		t.Errorf("end: %+v, %v", c, err)
	}
}

var errSeenEnough = errors.New("seen enough")

func TestFollowingEndsWithItsReader(t *testing.T) {
	w := newWorld(t)
	id := external(t, w)
	if _, err := sendLog(t, w, id, 0, 0, "x\n"); err != nil {
		t.Fatal(err)
	}
	if err := w.tcp.FollowLog(t.Context(), id, 0, func(api.LogChunk) error { return errSeenEnough }); !errors.Is(err, errSeenEnough) {
		t.Error(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	err := w.tcp.FollowLog(ctx, id, 0, func(api.LogChunk) error { stop(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// What failed is shown until it was started again.
func TestAFailedHarnessNeedsAPersonUntilItRunsAgain(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	needs := func() []api.Attention {
		t.Helper()
		var o api.Overview
		resp, err := http.Get("http://" + w.address + "/api/v1/overview")
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if err := json.NewDecoder(resp.Body).Decode(&o); err != nil {
			t.Fatal(err)
		}
		return o.Attention
	}
	id := external(t, w)
	if _, err := w.tcp.Finish(ctx, id, engine.Finish{Code: 3}); err != nil {
		t.Fatal(err)
	}
	if list := needs(); len(list) != 1 || list[0].Run != id || !strings.Contains(list[0].Sentence, "exit code 3") || list[0].Do != "assay logs "+id.String()+" --tail 20" {
		t.Errorf("%+v", list)
	}
	external(t, w)
	if list := needs(); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}

// post sends a body as a harness in any language would: "" is none at all.
func post(t *testing.T, w *world, path, body string) (int, string) {
	t.Helper()
	resp, err := http.Post("http://"+w.address+"/api/v1"+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(raw)
}

// What docs/SUITES.md shows is enough: times, numbers and what the server knows itself may be left out.
func TestWhatAHarnessMayLeaveOut(t *testing.T) {
	w := newWorld(t)
	at := "/runs/" + external(t, w).String()
	for _, step := range []struct{ path, body string }{
		{"/reports", ""}, {"/reports", "{}"}, {"/reports", `{"progress":{"done":3,"total":20}}`}, {"/reports", `{"metrics":[{"name":"acc","value":0.5}]}`},
		{"/finish", `{"exit_code":0,"cases":[{"case":"a","pass":true},{"case":"a","state":"graded","pass":false},{"case":"b","state":"ungradable"},
			{"case":"c","pass":null,"error":"broke"},{"case":"d","findings":[{"criterion":"ok","value":true}],"usage":{"output":7}}]}`},
		{"/reports", `{"progress":{"done":4}}`}, {"/cancel", ""},
	} {
		if code, answer := post(t, w, at+step.path, step.body); code != http.StatusOK {
			t.Errorf("%s %s: %d %s", step.path, step.body, code, answer)
		}
	}
	cases, err := w.tcp.Cases(t.Context(), mustRun(t, at), api.CaseQuery{}, store.Page{})
	if err != nil || len(cases.Items) != 5 || cases.Items[1].Repeat != 1 || cases.Items[2].Seq != 3 {
		t.Fatalf("%+v, %v", cases.Items, err)
	}
	for i, want := range []assay.ItemState{assay.ItemGraded, assay.ItemGraded, assay.ItemUngradable, assay.ItemErrored, assay.ItemGraded} {
		if cases.Items[i].State != want {
			t.Errorf("case %d is %s, want %s", i+1, cases.Items[i].State, want)
		}
	}
	if d := cases.Items[4]; cases.Items[3].Class != assay.ClassCaseError || !d.Findings[0].Applies || !d.Usage.Known || d.Usage.Output != 7 {
		t.Errorf("%+v, %+v", cases.Items[3], d)
	}
	if code, answer := post(t, w, "/projects/default/suites/none/runs", ""); code != http.StatusNotFound {
		t.Errorf("a start without parameters: %d %s", code, answer)
	}
	if code, answer := post(t, w, at+"/retry", ""); code != http.StatusConflict {
		t.Errorf("a retry without a budget: %d %s", code, answer)
	}
}

func mustRun(t *testing.T, path string) assay.RunID {
	t.Helper()
	id, err := assay.ParseRunID(strings.TrimPrefix(path, "/runs/"))
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// An offset that no output has would make the next one negative.
func TestAnOffsetThatCannotBeIsRefused(t *testing.T) {
	w := newWorld(t)
	id := external(t, w)
	_, err := sendLog(t, w, id, math.MaxInt64, math.MaxInt64, "abc")
	holds(t, err, assay.CodeInvalid)
	if out, err := sendLog(t, w, id, 0, 0, "abc"); err != nil || out.Sent != 3 {
		t.Errorf("%+v, %v", out, err)
	}
}

// The output of a project's runs goes with it.
func TestOutputGoesWithItsProject(t *testing.T) {
	w, ctx := newWorld(t), t.Context()
	if _, err := w.tcp.CreateProject(ctx, "two", nil); err != nil {
		t.Fatal(err)
	}
	stays := external(t, w)
	r, err := w.tcp.StartExternal(ctx, "two", engine.ExternalRequest{Name: "ci"}, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []assay.RunID{stays, r.ID} {
		if _, err := sendLog(t, w, id, 0, 0, "hello"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.tcp.Finish(ctx, r.ID, engine.Finish{}); err != nil {
		t.Fatal(err)
	}
	if err := w.tcp.DeleteProject(ctx, "two"); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(w.dir, "runs", "*"))
	if err != nil || len(left) != 1 || filepath.Base(left[0]) != stays.String() {
		t.Errorf("left are %v, error %v", left, err)
	}
}

// What the server knows itself cannot be said, and a case that says nothing is none.
func TestWhatAHarnessMayNotSay(t *testing.T) {
	w := newWorld(t)
	at := "/runs/" + external(t, w).String()
	for _, step := range []struct{ path, body, says string }{
		{"/finish", `{"exit_code":0,"cases":[{"case":"a","pass":true,"run":"r999"}]}`, "unexpected property"},
		{"/finish", `{"exit_code":0,"cases":[{"case":"a","pass":true,"seq":7}]}`, "unexpected property"},
		{"/finish", `{"exit_code":0,"cases":[{"case":"a","pass":true,"state":"pending"}]}`, "state"},
		{"/finish", `{"exit_code":0,"cases":[{"case":"a"}]}`, "says nothing of how it ended"},
		{"/finish", `{"cases":[]}`, "exit_code"},
		{"/finish", `{"exit_code":0,"cases":[{"case":"a","error":"x","class":"x\u0000y"}]}`, "class"},
		{"/finish", `{"exit_code":0,"cases":[{"case":"a","pass":true,"class":"case_error"}]}`, "a case that is graded has not the class case_error"},
		{"/finish", `{"exit_code":0,"results":[{"error":"x"}]}`, "path"},
		{"/finish", `{"exit_code":0,"results":[{"path":"` + strings.Repeat("p", 1001) + `"}]}`, "length"},
		{"/reports", `{"progress":{"total":3}}`, "done"},
	} {
		if code, answer := post(t, w, at+step.path, step.body); code != http.StatusUnprocessableEntity && code != http.StatusBadRequest || !strings.Contains(answer, step.says) {
			t.Errorf("%s %s: %d %s", step.path, step.body, code, answer)
		}
	}
	if r, err := w.tcp.Run(t.Context(), mustRun(t, at)); err != nil || r.State != assay.RunRunning {
		t.Errorf("%+v, %v", r, err)
	}
}

// Result files that were not read are in the run's own sentence, which lists show.
func TestAnEndSaysWhichResultsWereNotRead(t *testing.T) {
	w := newWorld(t)
	for body, want := range map[string]string{
		`{"exit_code":0,"results":[{"path":"r.xml","format":"junit","cases":0,"error":"there is no such file"}]}`:                                                                    "the harness ended with exit code 0; no results were read: r.xml",
		`{"exit_code":0,"cases":[{"case":"a","pass":true}],"results":[{"path":"r.xml","format":"junit","cases":1,"error":"it is cut"},{"path":"s.xml","format":"junit","cases":0}]}`: "the harness ended with exit code 0; 1 case: 1 passed, 0 failed; not read whole: r.xml",
		`{"exit_code":0,"cases":[{"case":"a","pass":true}],"results":[{"path":"r.xml","format":"junit","cases":1}]}`:                                                                 "the harness ended with exit code 0; 1 case: 1 passed, 0 failed",
	} {
		at := "/runs/" + external(t, w).String()
		if code, answer := post(t, w, at+"/finish", body); code != http.StatusOK {
			t.Fatalf("%d %s", code, answer)
		}
		if r, err := w.tcp.Run(t.Context(), mustRun(t, at)); err != nil || r.Sentence != want || len(r.Harness.Results) == 0 {
			t.Errorf("%q, want %q: %+v, %v", r.Sentence, want, r.Harness, err)
		}
	}
}
