//go:build linux

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/harness/shim/shimtest"
)

// The rate is that of 1 GB in a minute. `make bench` prints the whole gigabyte.
const (
	floodLines = 1_000_000
	floodRate  = 180_000 // lines a second
	floodBatch = 40      // lines a write
	floodKeep  = 64 << 20
)

func init() { roles["flood"] = flood }

// floodLine has 100 bytes.
func floodLine(n int) string { return fmt.Sprintf("%010d %s\n", n, strings.Repeat("x", 88)) }

// flooded is what the harness says of itself.
type flooded struct {
	Longest time.Duration // write
	Ended   time.Time
}

// flood is the harness: it prints at its pace whatever became of the time, and never waits for anybody but
// for who reads its output.
func flood() {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	var f flooded
	var block []byte
	for begun, n := time.Now(), 0; n < floodLines; <-tick.C {
		for due := min(int(time.Since(begun).Seconds()*floodRate), floodLines); n < due; {
			block = block[:0]
			for range min(floodBatch, due-n) {
				block = append(block, floodLine(n)...)
				n++
			}
			at := time.Now()
			if _, err := os.Stdout.Write(block); err != nil {
				panic(err)
			}
			f.Longest = max(f.Longest, time.Since(at))
		}
	}
	f.Ended = time.Now()
	raw, err := json.Marshal(f)
	if err == nil {
		err = os.WriteFile(os.Getenv("E2E_SAY"), raw, 0o600)
	}
	if err != nil {
		panic(err)
	}
}

// floodSeen makes sure that what is followed is every line in its order.
type floodSeen struct {
	mu    sync.Mutex
	next  int
	rest  []byte
	wrong string
	at    time.Time // of the last piece
}

func (f *floodSeen) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = time.Now()
	f.rest = append(f.rest, p...)
	at := 0
	for ; len(f.rest)-at >= 100 && f.wrong == ""; at += 100 {
		if line := string(f.rest[at : at+100]); line != floodLine(f.next) {
			f.wrong = line
			break
		}
		f.next++
	}
	f.rest = append(f.rest[:0], f.rest[at:]...)
	return len(p), nil
}

// kilobytes is a line of a file of /proc.
func kilobytes(file, line string) int64 {
	raw, _ := os.ReadFile(file) // the process may be gone
	_, rest, _ := strings.Cut(string(raw), "\n"+line)
	if fields := strings.Fields(rest); len(fields) > 0 {
		n, _ := strconv.ParseInt(fields[0], 10, 64)
		return n
	}
	return 0
}

// A harness prints as much as fills a gigabyte in a minute while `logs -f` follows: it is never held up for
// a second, memory and disk stay bounded, the tail is right and the follower has every line.
func TestAFloodIsStoredAndFollowed(t *testing.T) {
	w := newWorld(t, "")
	w.t.Cleanup(func() { shimtest.EndAll(t, w.dir) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	say, file := filepath.Join(dir, "said"), filepath.Join(dir, "assay.yaml")
	yaml := fmt.Sprintf("suites:\n  flood:\n    command: [%q]\n    env: {set: {E2E_ROLE: flood, E2E_SAY: %q}}\n    log: {keep: %dMiB}\n", self, say, floodKeep>>20)
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	w.ok("suite", "apply", file)
	c, server := w.serve()
	id := run(t, c, "flood")
	seen := &floodSeen{}
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	follow := w.command(ctx, "logs", id.String(), "-f")
	follow.Stdout = seen
	if err := follow.Start(); err != nil {
		t.Fatal(err)
	}
	var disk, memory int64
	var v api.RunView
	slowly(t, 2*time.Minute, "the flood ends", func() bool {
		if v, err = c.Run(ctx, id); err != nil {
			t.Fatal(err)
		}
		if !v.State.Terminal() && v.Harness.PID > 0 {
			memory = max(memory, kilobytes(fmt.Sprintf("/proc/%d/smaps_rollup", parentOf(v.Harness.PID)), "Private_Dirty:"))
		}
		disk = max(disk, bytesIn(t, filepath.Join(w.dir, "runs", id.String(), "log")))
		return v.State.Terminal()
	})
	resident := kilobytes(fmt.Sprintf("/proc/%d/status", server.cmd.Process.Pid), "VmHWM:")
	if err := follow.Wait(); err != nil {
		t.Errorf("logs -f: %v", err)
	}
	raw, err := os.ReadFile(say)
	var said flooded
	if err == nil {
		err = json.Unmarshal(raw, &said)
	}
	if err != nil {
		t.Fatalf("%s: %s; %v", v.State, v.Sentence, err)
	}
	late := seen.at.Sub(said.Ended)
	t.Logf("longest write %s, at most %d MiB stored, shim %d KiB, server %d MiB, last line followed after %s", said.Longest, disk>>20, memory, resident>>10, late)
	if v.State != assay.RunCompleted || v.Harness.LogLines != floodLines || said.Longest > time.Second {
		t.Errorf("%s: %s; %d lines, longest write %s", v.State, v.Sentence, v.Harness.LogLines, said.Longest)
	}
	if disk < floodKeep/2 || disk > floodKeep+floodKeep/8 || memory == 0 || memory > 12<<10 || resident == 0 || resident > 200<<10 {
		t.Errorf("%d bytes stored at most, shim %d KiB, server %d KiB", disk, memory, resident)
	}
	if seen.next != floodLines || len(seen.rest) > 0 || late > 3*time.Second {
		t.Errorf("followed %d lines, then %.200q %q, the last %s after the harness's end", seen.next, seen.wrong, seen.rest, late)
	}
	tail := floodLine(floodLines-2) + floodLine(floodLines-1)
	if got := w.ok("logs", id.String(), "--tail", "2"); got != tail {
		t.Errorf("tail %q", got)
	}
	whole := []byte(w.ok("logs", id.String()))
	if !bytes.HasPrefix(whole, []byte(floodLine(0)+floodLine(1))) || !bytes.HasSuffix(whole, []byte(tail)) || bytes.Count(whole, []byte("bytes of output are left out here")) != 1 {
		t.Errorf("%d bytes: %.300q", len(whole), whole)
	}
}

// parentOf is 0 for a process that is gone.
func parentOf(pid int) int {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(raw), ") ")
	var state string
	var parent int
	_, _ = fmt.Sscan(rest, &state, &parent)
	return parent
}

func bytesIn(t *testing.T, dir string) (sum int64) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil { // else it was dropped meanwhile
			sum += info.Size()
		}
	}
	return sum
}
