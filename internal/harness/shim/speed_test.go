//go:build linux

package shim

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/logs"
)

// The benchmarks measure the shim that SHIM_TEST_PROGRAM names, which should be the real program: its size
// is part of what is measured. Without one this test plays it.

// BenchmarkFirstLine is from the launch to the harness's first line in a follower's hands.
func BenchmarkFirstLine(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		a := newLaunch(b, "hello")
		ctx, cancel := context.WithTimeout(b.Context(), 10*time.Second)
		heard := make(chan struct{})
		go logs.Follow(ctx, a.order.LogDir, 0, func() bool { return false }, func(c logs.Chunk) error {
			if bytes.Contains(c.Data, []byte("hello\n")) {
				close(heard)
				cancel()
			}
			return nil
		})
		b.StartTimer()
		a.launch()
		<-heard
		b.StopTimer()
		a.await(Alive)
		a.stop(assay.ExitCancel)
		a.exit(5 * time.Second)
		b.StartTimer()
	}
}

// BenchmarkChattyHarness is what 100,000 lines a second cost more than written to a file.
func BenchmarkChattyHarness(b *testing.B) {
	const seconds = 4
	for b.Loop() {
		file, err := os.Create(filepath.Join(b.TempDir(), "out"))
		if err != nil {
			b.Fatal(err)
		}
		cmd := exec.Command("/proc/self/exe")
		cmd.Env, cmd.Stdout = []string{"SHIM_ROLE=chatter", fmt.Sprint("SHIM_SECONDS=", seconds)}, file
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		text, _ := os.ReadFile(file.Name())
		plain := used(b, string(text))

		a := newLaunch(b, "chatter", fmt.Sprint("SHIM_SECONDS=", seconds))
		a.order.Secrets = []string{"tok-4711-secret", "another-secret-0815"}
		a.launch()
		a.await(Alive)
		shim, last := a.started().Shim.PID, time.Duration(0)
		until(b, seconds*3*time.Second, "the harness ends", func() bool {
			if now := processor(shim); now > 0 {
				last = now
			}
			standing, _ := Look(a.dir)
			return standing == Finished
		})
		tail, err := logs.Tail(a.order.LogDir, 1, 100)
		if err != nil {
			b.Fatal(err)
		}
		all := last + used(b, string(tail.Data))
		b.ReportMetric(float64(all-plain)/float64(seconds*time.Second)*100, "%core-more")
		b.ReportMetric(float64(last)/float64(seconds*time.Second)*100, "%core-shim")
		b.ReportMetric(float64(plain)/float64(seconds*time.Second)*100, "%core-file")
	}
}

func used(b *testing.B, text string) time.Duration {
	_, after, ok := strings.Cut(text, "used ")
	n, err := strconv.Atoi(strings.TrimSpace(after))
	if !ok || err != nil {
		b.Fatalf("no time is told: %.100q", after)
	}
	return time.Duration(n) * time.Millisecond
}

// processor is the processor time of a process.
func processor(pid int) time.Duration {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	main := strings.Fields(string(raw))
	if len(main) == 0 {
		return 0
	}
	var sum int64
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, t := range tasks {
		raw, _ := os.ReadFile(t)
		if f := strings.Fields(string(raw)); len(f) > 0 {
			n, _ := strconv.ParseInt(f[0], 10, 64)
			sum += n
		}
	}
	return time.Duration(sum)
}

// BenchmarkIdleMemory is what each of some idle shims has for itself alone.
func BenchmarkIdleMemory(b *testing.B) {
	const many = 10
	for b.Loop() {
		most, sum := 0, 0
		var all []*launch
		for range many {
			a := newLaunch(b, "hello")
			a.launch()
			all = append(all, a)
		}
		for _, a := range all {
			a.said("hello")
			a.dial()
		}
		for _, a := range all {
			kb := private(a.started().Shim.PID)
			most, sum = max(most, kb), sum+kb
		}
		b.ReportMetric(float64(sum)/many/1024, "MB/shim")
		b.ReportMetric(float64(most)/1024, "MB-most")
		for _, a := range all {
			a.clean()
		}
	}
}

// private is the memory in kB that a process shares with nobody.
func private(pid int) (kb int) {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	for line := range strings.Lines(string(raw)) {
		if f := strings.Fields(line); len(f) > 1 && strings.HasPrefix(f[0], "Private_") {
			n, _ := strconv.Atoi(f[1])
			kb += n
		}
	}
	return kb
}
