package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"assay/internal/api"
)

// suites measures what it costs to start and to watch harnesses, with the real program as server, shim and
// follower. Each part has a server of its own.
func suites(ctx context.Context, o options) (out []figure, err error) {
	for _, part := range []struct {
		name string
		run  func(context.Context, options) ([]figure, error)
	}{{"first", firstLine}, {"chatty", chatty}, {"many", manySuites}, {"gigabyte", gigabyte}} {
		its := o
		its.Dir = filepath.Join(o.Dir, part.name)
		if err := os.Mkdir(its.Dir, 0o700); err != nil {
			return out, err
		}
		figures, err := part.run(ctx, its)
		if err != nil {
			return out, fmt.Errorf("%s: %w", part.name, err)
		}
		out = append(out, figures...)
	}
	return out, nil
}

// firstLine measures from the start of a suite to its harness's first line in a follower's hands.
func firstLine(ctx context.Context, o options) ([]figure, error) {
	s, err := serveSuites(ctx, o, map[string][]string{"hello": {"echo", "hello"}})
	if err != nil {
		return nil, err
	}
	defer s.stop(ctx)
	var out []figure
	for _, how := range []struct {
		work string
		once func(context.Context, *suiteServer) (time.Duration, error)
	}{
		{"start of a suite to its first line: `assay suite run -f` beside a server, its own start included", firstByCommand},
		{"start of a suite to its first line: request to server-sent event", firstByEvent},
	} {
		began := time.Now()
		const times = 30
		var all []float64
		for range times {
			t, err := how.once(ctx, s)
			if err != nil {
				return nil, err
			}
			all = append(all, t.Seconds()*1000)
		}
		out = append(out, figure{
			Work: how.work, Reach: "150 ms",
			Got:     fmt.Sprintf("%.0f ms (median of %d), at worst %.0f ms", median(all), times, slices.Max(all)),
			Seconds: time.Since(began).Seconds(),
		})
	}
	return out, nil
}

func firstByCommand(ctx context.Context, s *suiteServer) (took time.Duration, err error) {
	cmd := exec.CommandContext(ctx, s.o.Binary, "--data", s.data, "suite", "run", "hello", "-f")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	took = time.Since(began)
	if err == nil && line != "hello\n" {
		err = fmt.Errorf("the first line is %q", line)
	}
	return took, errors.Join(err, cmd.Wait())
}

func firstByEvent(ctx context.Context, s *suiteServer) (took time.Duration, err error) {
	began := time.Now()
	id, err := s.start(ctx, "hello")
	if err != nil {
		return 0, err
	}
	err = s.FollowLog(ctx, id, 0, func(c api.LogChunk) error {
		if took == 0 && strings.Contains(c.Text, "hello\n") {
			took = time.Since(began)
		}
		return nil
	})
	if err == nil && took == 0 {
		err = errors.New("the line was never followed")
	}
	return took, err
}

// Each of many suites prints two megabytes and then a line a second.
const (
	manyLines = 20_000
	manyBytes = manyLines * chatLine
)

func manyCommand() []string {
	return []string{"sh", "-c", fmt.Sprintf("yes %s | head -n %d; while :; do echo 'still here'; sleep 1; done", strings.Repeat("x", chatLine-1), manyLines)}
}

// manySuites runs fifty suites at once and looks at the memory that each shim has for itself; and one suite
// alone, whose server dies, so that nobody shares the program's pages with its shim.
func manySuites(ctx context.Context, o options) ([]figure, error) {
	const many = 50
	began := time.Now()
	commands := map[string][]string{}
	for i := range many {
		commands[fmt.Sprintf("s%02d", i)] = manyCommand()
	}
	s, err := serveSuites(ctx, o, commands)
	if err != nil {
		return nil, err
	}
	shims, err := s.startAll(ctx, commands)
	var dirty, all []float64
	for _, pid := range shims {
		p := privateOf(pid)
		dirty, all = append(dirty, p.Dirty), append(all, p.Dirty+p.Clean)
	}
	server := fmt.Sprint(s.cmd.Process.Pid)
	resident, peak := told("/proc/"+server+"/status", "VmRSS:"), peakRSS(server)
	s.stop(ctx)
	if err != nil {
		return nil, err
	}
	fifty := figure{
		Work: fmt.Sprintf("%d suites at once, after %d MB of output each: private memory of a shim", many, manyBytes/1_000_000), Reach: "12 MB",
		Got: fmt.Sprintf("%.1f MB at most, %.1f MB on average, of them written to %.1f and %.1f MB; the server then has %.0f MB resident",
			slices.Max(all), mean(all), slices.Max(dirty), mean(dirty), resident),
		RSS: peak, Seconds: time.Since(began).Seconds(),
	}
	began = time.Now()
	one, err := loneShim(ctx, o)
	one.Seconds = time.Since(began).Seconds()
	return []figure{fifty, one}, err
}

// startAll starts suites and returns their shims, some seconds after the last one's output is stored.
func (s *suiteServer) startAll(ctx context.Context, commands map[string][]string) (shims []int, err error) {
	for name := range commands {
		if _, err := s.start(ctx, name); err != nil {
			return nil, err
		}
	}
	for _, id := range s.runs {
		if err := s.stored(id, manyBytes); err != nil {
			return nil, err
		}
		pid, err := s.shim(ctx, id)
		if err != nil {
			return nil, err
		}
		shims = append(shims, pid)
	}
	time.Sleep(5 * time.Second) // they run on
	return shims, nil
}

func loneShim(ctx context.Context, o options) (f figure, err error) {
	o.Dir = filepath.Join(o.Dir, "lone")
	if err := os.Mkdir(o.Dir, 0o700); err != nil {
		return f, err
	}
	commands := map[string][]string{"lone": manyCommand()}
	s, err := serveSuites(ctx, o, commands)
	if err != nil {
		return f, err
	}
	shims, err := s.startAll(ctx, commands)
	if err != nil {
		s.stop(ctx)
		return f, err
	}
	shim := shims[0]
	with := privateOf(shim)
	s.kill()
	alone := privateOf(shim)
	f = figure{
		Work: "one suite alone: private memory of its shim", Reach: "-",
		Got: fmt.Sprintf("%.1f MB beside its server, %.1f MB written to; once the server is dead %.1f MB, %.1f MB written to, the rest pages of the program's file",
			with.Dirty+with.Clean, with.Dirty, alone.Dirty+alone.Clean, alone.Dirty),
		RSS: peakRSS(fmt.Sprint(shim)),
	}
	return f, until(time.Minute, "the orphaned shim ends", func() (bool, error) {
		return peakRSS(fmt.Sprint(shim)) == 0, nil // a zombie has no memory either
	})
}

func mean(xs []float64) (m float64) {
	for _, x := range xs {
		m += x / float64(len(xs))
	}
	return m
}
