package api_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"assay/internal/assay"
	"assay/internal/store"
)

func TestImport(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	file := sessions(t, 40) + "not json\n"
	var sent atomic.Int64
	imp, err := w.tcp.Import(ctx, "default", assay.ImportOptions{File: "a b.jsonl", By: "me"}, strings.NewReader(file), sent.Store)
	if err != nil || imp.New != 40 || imp.Rejected != 1 || imp.File != "a b.jsonl" || imp.By != "me" || imp.State != "done" {
		t.Fatalf("%+v, %v", imp, err)
	}
	if sent.Load() != int64(len(file)) {
		t.Errorf("progress told of %d of %d bytes", sent.Load(), len(file))
	}
	rejects, err := w.tcp.Rejects(ctx, "default", imp.ID, store.Page{})
	if err != nil || len(rejects.Items) != 1 || rejects.Items[0].Line != 41 || rejects.Items[0].Reason == "" {
		t.Errorf("%+v, %v", rejects, err)
	}
	again, err := w.tcp.Import(ctx, "default", assay.ImportOptions{File: "again"}, strings.NewReader(file), nil)
	if err != nil || again.Unchanged != 40 || again.New != 0 {
		t.Errorf("%+v, %v", again, err)
	}
	list, err := w.tcp.Imports(ctx, "default", store.Page{Limit: 1})
	if err != nil || len(list.Items) != 1 || list.Items[0].File != "again" || list.Next == "" {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestStrictImportStoresNothing(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	file := sessions(t, 40) + "not json\n"
	_, err := w.tcp.Import(ctx, "default", assay.ImportOptions{File: "f", Strict: true}, strings.NewReader(file), nil)
	holds(t, err, assay.CodeRejected)
	p, err := w.tcp.Project(ctx, "default")
	if err != nil || p.Totals.Sessions != 0 {
		t.Errorf("%+v, %v", p.Totals, err)
	}
}

// endless yields bytes until it is closed, and remembers how many were taken.
type endless struct{ taken atomic.Int64 }

func (e *endless) Read(b []byte) (int, error) {
	e.taken.Add(int64(len(b)))
	return len(b), nil
}

func TestRefusedUploadIsNotSent(t *testing.T) {
	w := newWorld(t)
	var file endless
	_, err := w.tcp.Import(t.Context(), "nowhere", assay.ImportOptions{}, &file, nil)
	holds(t, err, assay.CodeNotFound)
	if n := file.taken.Load(); n > 1<<20 {
		t.Errorf("%d bytes were sent to a server that refused at once", n)
	}
	_, err = w.tcp.Import(t.Context(), "default", assay.ImportOptions{Format: "xml"}, &file, nil)
	holds(t, err, assay.CodeInvalid)
}

func TestImportLargerThanOtherBodiesMayBe(t *testing.T) {
	w := newWorld(t)
	line := strings.Replace(sessions(t, 1), "hello", strings.Repeat("x", 3<<20), 1)
	if imp, err := w.socket.Import(t.Context(), "default", assay.ImportOptions{}, strings.NewReader(line), nil); err != nil || imp.New != 1 {
		t.Errorf("%+v, %v", imp, err)
	}
}

func TestOtherBodiesAreBounded(t *testing.T) {
	w := newWorld(t)
	_, err := w.tcp.ApplyJudge(t.Context(), "default", strings.Repeat("x", 2<<20))
	holds(t, err, assay.CodeInvalid)
}

func TestOnlyJSONIsTaken(t *testing.T) {
	w := stocked(t, 1)
	for _, contentType := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "application/json+evil", "text/json", ";"} {
		for _, path := range []string{"/projects/default/runs", "/projects/default/imports", "/projects/default/plan", "/projects"} {
			req, err := http.NewRequest("POST", "http://"+w.address+"/api/v1"+path, strings.NewReader(`{"judges":["good"]}`))
			if err != nil {
				t.Fatal(err)
			}
			req.Header["Content-Type"] = []string{contentType}
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			if resp.StatusCode != http.StatusUnsupportedMediaType || !strings.Contains(string(body), `"code":"invalid_input"`) {
				t.Errorf("%s with %q: %s %s", path, contentType, resp.Status, body)
			}
		}
	}
}

// TestImportOfAFileThatBreaks: a disk that fails is not a server that does not answer.
func TestImportOfAFileThatBreaks(t *testing.T) {
	w := newWorld(t)
	broken := io.MultiReader(strings.NewReader(sessions(t, 3)), iotest.ErrReader(errors.New("input/output error")))
	_, err := w.tcp.Import(t.Context(), "default", assay.ImportOptions{File: "on-a-bad-disk.jsonl"}, broken, nil)
	holds(t, err, assay.CodeInternal)
	if err == nil || err.Error() != "read on-a-bad-disk.jsonl: input/output error" {
		t.Errorf("%v", err)
	}
}
