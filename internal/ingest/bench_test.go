package ingest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/ingest"
	"assay/internal/session"
	"assay/internal/store"
)

// alike makes a tau-bench file of about size bytes out of the real one: the same messages under new
// task numbers, with words exchanged, so that compression finds what it would find in real life.
type alike struct {
	elements [][]byte
	left     int64
	n        int
	buf      bytes.Buffer
	random   *rand.Rand
}

func newAlike(t testing.TB, size int64) *alike {
	var elements []json.RawMessage
	if err := json.Unmarshal(shared(t, tauBench), &elements); err != nil {
		t.Fatal(err)
	}
	a := &alike{left: size, random: rand.New(rand.NewPCG(1, 2))}
	for _, e := range elements {
		a.elements = append(a.elements, bytes.Clone(e))
	}
	a.buf.WriteByte('[')
	return a
}

func (a *alike) Read(b []byte) (int, error) {
	for a.buf.Len() < len(b) && a.left > 0 {
		if a.n > 0 {
			a.buf.WriteString(", ")
		}
		e := a.elements[a.n%len(a.elements)]
		i := bytes.Index(e, []byte(`"task_id": `)) + len(`"task_id": `)
		j := i + bytes.IndexByte(e[i:], ',')
		a.buf.Write(e[:i])
		fmt.Fprint(&a.buf, 1000+a.n)
		// One letter in a hundred differs, so that no two sessions share long texts but for the policy.
		rest := bytes.Clone(e[j:])
		if k := bytes.Index(rest, []byte(`"role": "user"`)); k > 0 {
			for range len(rest) / 200 {
				if at := k + a.random.IntN(len(rest)-k); rest[at] >= 'a' && rest[at] <= 'z' && rest[at-1] == ' ' && rest[at-2] >= 'a' && rest[at-2] <= 'z' {
					rest[at] = byte('A' + a.random.IntN(26))
				}
			}
		}
		a.buf.Write(rest)
		a.left -= int64(len(e))
		a.n++
		if a.left <= 0 {
			a.buf.WriteByte(']')
		}
	}
	return a.buf.Read(b)
}

// BenchmarkImport is the whole way: file to SQLite. Set ASSAY_BENCH_BYTES for other sizes.
func BenchmarkImport(b *testing.B) {
	size := int64(200 << 20)
	if s := os.Getenv("ASSAY_BENCH_BYTES"); s != "" {
		if _, err := fmt.Sscan(s, &size); err != nil {
			b.Fatal(err)
		}
	}
	file, err := os.Create(filepath.Join(b.TempDir(), "alike.json"))
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	if size, err = io.Copy(file, newAlike(b, size)); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(size)
	defer cpu(b, size)()
	for b.Loop() {
		b.StopTimer()
		w := open(b, assay.DefaultSettings())
		clock := &clocked{Store: w.store}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
		imp, err := ingest.Import(context.Background(), clock, w.project, file, assay.ImportOptions{File: "f"}, now)
		if err != nil || imp.Rejected > 0 || imp.New == 0 {
			b.Fatalf("%+v, %v", imp, err)
		}
		b.ReportMetric(float64(imp.New), "sessions")
		b.ReportMetric(clock.longest.Seconds()*1000, "longest-batch-ms")
	}
	b.ReportMetric(peakMB(b), "peak-RSS-MB")
}

// clocked measures how long a batch takes, which is how long other writers wait for it.
type clocked struct {
	store.Store
	longest time.Duration
}

func (c *clocked) Sessions() store.Sessions { return &clockedSessions{c.Store.Sessions(), c} }

type clockedSessions struct {
	store.Sessions
	c *clocked
}

func (s *clockedSessions) Put(ctx context.Context, project assay.ProjectID, importID int64, batch []store.NewSession, now time.Time) ([]store.PutResult, error) {
	began := time.Now()
	defer func() { s.c.longest = max(s.c.longest, time.Since(began)) }()
	return s.Sessions.Put(ctx, project, importID, batch, now)
}

// cpu reports how much of a file one core does in a second of its own time, which is what a machine
// that does other things at once still tells truly.
func cpu(b *testing.B, size int64) (done func()) {
	used := func() time.Duration {
		var r syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
			b.Fatal(err)
		}
		return time.Duration(r.Utime.Nano() + r.Stime.Nano())
	}
	before := used()
	return func() { b.ReportMetric(float64(size)*float64(b.N)/1e6/(used()-before).Seconds(), "MB/core-s") }
}

func peakMB(b testing.TB) float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for l := range strings.Lines(string(status)) {
		var kb float64
		if n, _ := fmt.Sscanf(l, "VmHWM: %f kB", &kb); n == 1 {
			return kb / 1024
		}
	}
	b.Fatal("no VmHWM")
	return 0
}

// BenchmarkRead is reading and encoding on one core, without a store.
func BenchmarkRead(b *testing.B) {
	var file bytes.Buffer
	if _, err := io.Copy(&file, newAlike(b, 8<<20)); err != nil {
		b.Fatal(err)
	}
	for name, step := range map[string]func(session.Task){
		"cut":    func(session.Task) {},
		"parse":  func(t session.Task) { t.Read() },
		"encode": func(t session.Task) { _, _, _, _ = store.EncodeBody(t.Read().Session) },
	} {
		b.Run(name, func(b *testing.B) {
			defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
			b.SetBytes(int64(file.Len()))
			defer cpu(b, int64(file.Len()))()
			b.ReportAllocs()
			for b.Loop() {
				r, _, err := session.Open(bytes.NewReader(file.Bytes()), session.Options{})
				if err != nil {
					b.Fatal(err)
				}
				for {
					task, err := r.Next()
					if err == io.EOF {
						break
					}
					step(task)
				}
			}
		})
	}
}
