package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// ended is a command that was run and what it took.
type ended struct {
	out  []byte
	wall time.Duration
	rss  float64 // MB, its own peak
}

// assay runs the built program on a data folder.
func assayRun(ctx context.Context, o options, data string, args ...string) (ended, error) {
	cmd := exec.CommandContext(ctx, o.Binary, append([]string{"--data", data}, args...)...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	began := time.Now()
	err := cmd.Run()
	e := ended{out: out.Bytes(), wall: time.Since(began)}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		e.rss = float64(usage.Maxrss) / 1024
	}
	if err != nil {
		return e, fmt.Errorf("assay %v: %w\n%s", args, err, errs.Bytes())
	}
	return e, nil
}

// plan previews a run over many stored sessions with the real program, its start included.
func plan(ctx context.Context, o options) ([]figure, error) {
	began := time.Now()
	if err := inChild(o, "fill"); err != nil {
		return nil, err
	}
	var best []float64
	var rss float64
	for range 5 {
		e, err := assayRun(ctx, o, o.Dir, "plan", "--judge", "resolved", "--per-stratum", "200", "--json")
		if err != nil {
			return nil, err
		}
		best = append(best, e.wall.Seconds())
		rss = max(rss, e.rss)
	}
	return []figure{{
		Work:  fmt.Sprintf("plan over %d stored sessions in 14 x 3 strata (SQLite), start of the program included", o.Sessions),
		Reach: "2 s, 200 MB", Got: fmt.Sprintf("%.2f s (median of 5)", median(best)), RSS: rss, Seconds: time.Since(began).Seconds(),
	}}, nil
}

// inChild runs a hidden role, so that its memory is not counted here.
func inChild(o options, name string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "-role", name, "-dir", o.Dir, "-sessions", fmt.Sprint(o.Sessions))
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// importFile imports a file of sessions like tau-bench's with the real program.
func importFile(ctx context.Context, o options) ([]figure, error) {
	began := time.Now()
	file := filepath.Join(o.Dir, "tau.json")
	size, err := writeTau(file, int64(o.Megabytes)<<20)
	if err != nil {
		return nil, err
	}
	e, err := assayRun(ctx, o, filepath.Join(o.Dir, "data"), "import", file)
	if err != nil {
		return nil, err
	}
	mb := float64(size) / 1e6
	return []figure{{
		Work:  fmt.Sprintf("import of %.0f MB of tau-bench-like sessions (SQLite)", mb),
		Reach: "100 MB/s, 200 MB", Got: fmt.Sprintf("%.0f MB/s", mb/e.wall.Seconds()), RSS: e.rss, Seconds: time.Since(began).Seconds(),
	}}, nil
}

// start measures from the start of `assay serve` to its first answer over TCP, on a folder that exists.
func start(ctx context.Context, o options) ([]figure, error) {
	began := time.Now()
	if _, err := assayRun(ctx, o, o.Dir, "project", "list"); err != nil {
		return nil, err
	}
	var times []float64
	for range 5 {
		t, err := startOnce(ctx, o)
		if err != nil {
			return nil, err
		}
		times = append(times, t.Seconds()*1000)
	}
	return []figure{{
		Work: "start of the server to its first answered request", Reach: "300 ms",
		Got: fmt.Sprintf("%.0f ms (median of 5)", median(times)), Seconds: time.Since(began).Seconds(),
	}}, nil
}

func startOnce(ctx context.Context, o options) (time.Duration, error) {
	began := time.Now()
	cmd, _, err := serve(ctx, o, o.Dir)
	if err != nil {
		return 0, err
	}
	took := time.Since(began)
	end(cmd)
	return took, nil
}
