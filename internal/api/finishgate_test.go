package api_test

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// finishing is a finish whose body is sent when the server asks for it.
type finishing struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
	body string
}

func beginFinish(t *testing.T, w *world, size int) *finishing {
	t.Helper()
	id := external(t, w)
	conn, err := net.Dial("tcp", w.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	f := &finishing{t: t, conn: conn, in: bufio.NewReader(conn), body: fmt.Sprintf(`{"exit_code":0,"cases":[{"case":"a","pass":true,"input":"%s"}]}`, strings.Repeat("x", size))}
	if _, err := fmt.Fprintf(conn, "POST /api/v1/runs/%s/finish HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: %d\r\n\r\n", id, w.address, len(f.body)); err != nil {
		t.Fatal(err)
	}
	return f
}

// asked says whether the server begins to read the body within a time.
func (f *finishing) asked(within time.Duration) bool {
	f.t.Helper()
	if err := f.conn.SetReadDeadline(time.Now().Add(within)); err != nil {
		f.t.Fatal(err)
	}
	line, err := f.in.ReadString('\n')
	if errors.Is(err, os.ErrDeadlineExceeded) && line == "" {
		return false
	}
	if err != nil || !strings.Contains(line, "100 Continue") {
		f.t.Fatalf("%q, %v", line, err)
	}
	if _, err := f.in.ReadString('\n'); err != nil {
		f.t.Fatal(err)
	}
	return true
}

func (f *finishing) end() {
	f.t.Helper()
	if err := f.conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		f.t.Fatal(err)
	}
	if _, err := f.conn.Write([]byte(f.body)); err != nil {
		f.t.Fatal(err)
	}
	answer, err := http.ReadResponse(f.in, nil)
	if err != nil {
		f.t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		f.t.Errorf("%s", answer.Status)
	}
}

// However many large finishes come at once, few of them are in memory; small ones wait for none of them.
func TestLargeFinishesAreReadFewAtATime(t *testing.T) {
	w := newWorld(t)
	const large = 2 << 20
	first, second := beginFinish(t, w, large), beginFinish(t, w, large)
	if !first.asked(10*time.Second) || !second.asked(10*time.Second) {
		t.Fatal("two are not read at once")
	}
	third := beginFinish(t, w, large)
	if third.asked(300 * time.Millisecond) {
		t.Error("a third is read beside them")
	}
	small := beginFinish(t, w, 10)
	if !small.asked(10 * time.Second) {
		t.Fatal("a small one waits")
	}
	small.end()
	first.end()
	if !third.asked(10 * time.Second) {
		t.Fatal("the third has no turn")
	}
	third.end()
	second.end()
}

// A run that ends is not silent while it waits for its turn, and while its end is sent.
func TestAFinishThatWaitsIsNotSilence(t *testing.T) {
	w := newWorld(t)
	f := beginFinish(t, w, 10)
	if !f.asked(10 * time.Second) {
		t.Fatal("it is not read")
	}
	runs, _, err := w.store.Runs().List(t.Context(), store.RunQuery{}, store.Page{})
	if err != nil || len(runs) != 1 {
		t.Fatalf("%v %v", runs, err)
	}
	w.engine.Silence().Look(runs)
	if silent := w.engine.Silence().Of(runs[0].ID); silent != 0 {
		t.Errorf("silent for %v", silent)
	}
	f.end()
	if got, err := w.store.Runs().Get(t.Context(), runs[0].ID); err != nil || got.State != assay.RunCompleted {
		t.Errorf("%+v %v", got, err)
	}
}
