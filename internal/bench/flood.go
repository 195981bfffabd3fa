package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"time"

	"assay/internal/assay"
	"assay/internal/logs"
)

// chatty measures what 100,000 lines a second cost more when Assay takes them than when a file does: with
// nobody looking, and with `assay logs -f` beside it.
func chatty(ctx context.Context, o options) ([]figure, error) {
	const seconds, times = 10, 3
	var took [2]time.Duration // without and with a follower
	c := chat{dir: filepath.Join(o.Dir, "chat"), lines: seconds * 100_000, rate: 100_000, batch: 1}
	argv, err := c.argv()
	if err != nil {
		return nil, err
	}
	s, err := serveSuites(ctx, o, map[string][]string{"chatty": argv})
	if err != nil {
		return nil, err
	}
	defer s.stop(ctx)
	var alone, followed []float64
	var last, seen watched
	var file chatted
	share := func(t time.Duration) float64 { return 100 * t.Seconds() / seconds }
	for range times {
		began := time.Now()
		if file, err = intoFile(ctx, c, filepath.Join(o.Dir, "out")); err != nil {
			return nil, err
		}
		if last, err = s.watch(ctx, c, false); err != nil {
			return nil, err
		}
		alone = append(alone, share(last.all()-file.Processor))
		took[0] += time.Since(began)
		began = time.Now()
		if seen, err = s.watch(ctx, c, true); err != nil {
			return nil, err
		}
		followed = append(followed, share(seen.all()-file.Processor))
		took[1] += time.Since(began)
	}
	return []figure{{
		Work: "supervising a harness of 100,000 lines/s of 100 bytes, more than the same into a file", Reach: "20 % of a core",
		Got: fmt.Sprintf("%.1f %% (median of %d; last: harness %.1f, shim %.1f, server %.1f, into a file %.1f), %.0f lines/s",
			median(alone), times, share(last.Processor), share(last.shim), share(last.server), share(file.Processor), last.Rate),
		RSS: last.peak, Seconds: took[0].Seconds(),
	}, {
		Work: "the same with `assay logs -f` beside it", Reach: "-",
		Got: fmt.Sprintf("%.1f %% (median of %d; last: harness %.1f, shim %.1f, server %.1f, logs -f %.1f), %.0f lines/s",
			median(followed), times, share(seen.Processor), share(seen.shim), share(seen.server), share(seen.follower), seen.Rate),
		RSS: seen.peak, Seconds: took[1].Seconds(),
	}}, nil
}

// intoFile runs a chatty harness that nobody watches.
func intoFile(ctx context.Context, c chat, name string) (chatted, error) {
	if err := c.again(false); err != nil {
		return chatted{}, err
	}
	argv, err := c.argv()
	if err != nil {
		return chatted{}, err
	}
	file, err := os.Create(name)
	if err != nil {
		return chatted{}, err
	}
	defer os.Remove(name)
	defer file.Close()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout, cmd.Stderr = file, os.Stderr
	if err := cmd.Run(); err != nil {
		return chatted{}, err
	}
	return c.said()
}

// watched is what a chatty harness and those who watch it took.
type watched struct {
	chatted
	shim, server, follower time.Duration
	peak                   float64 // of the shim, MB resident
}

func (w watched) all() time.Duration { return w.Processor + w.shim + w.server + w.follower }

// watch runs the suite chatty to its end.
func (s *suiteServer) watch(ctx context.Context, c chat, follow bool) (w watched, err error) {
	if err := c.again(true); err != nil {
		return w, err
	}
	before, err := processorOf(s.cmd.Process.Pid)
	if err != nil {
		return w, err
	}
	id, err := s.start(ctx, "chatty")
	if err != nil {
		return w, err
	}
	var follower *exec.Cmd
	if follow {
		follower = exec.CommandContext(ctx, s.o.Binary, "--data", s.data, "logs", id.String(), "-f") // into the void
		if err := follower.Start(); err != nil {
			return w, err
		}
	}
	pid, err := s.shim(ctx, id)
	if err != nil {
		return w, err
	}
	if w.chatted, err = c.said(); err != nil {
		return w, err
	}
	if err := s.stored(id, int64(c.lines)*chatLine); err != nil {
		return w, err
	}
	if w.shim, err = processorOf(pid); err != nil {
		return w, err
	}
	w.peak = peakRSS(fmt.Sprint(pid))
	if err := c.release(); err != nil {
		return w, err
	}
	if err := s.ended(ctx, id); err != nil {
		return w, err
	}
	if follow {
		if err := follower.Wait(); err != nil {
			return w, err
		}
		w.follower = follower.ProcessState.UserTime() + follower.ProcessState.SystemTime()
	}
	after, err := processorOf(s.cmd.Process.Pid)
	w.server = after - before
	return w, err
}

// gigabyte lets a harness print 1 GB within a minute, 4 KB a write, and looks at what that takes of memory,
// disk and the harness's time while `assay logs -f` follows.
func gigabyte(ctx context.Context, o options) ([]figure, error) {
	const lines, rate, batch = 10_000_000, 175_000, 40
	began := time.Now()
	c := chat{dir: filepath.Join(o.Dir, "chat"), lines: lines, rate: rate, batch: batch}
	argv, err := c.argv()
	if err != nil {
		return nil, err
	}
	s, err := serveSuites(ctx, o, map[string][]string{"flood": argv})
	if err != nil {
		return nil, err
	}
	defer s.stop(ctx)
	if err := c.again(true); err != nil {
		return nil, err
	}
	id, err := s.start(ctx, "flood")
	if err != nil {
		return nil, err
	}
	reader := &lineReader{}
	follower := exec.CommandContext(ctx, o.Binary, "--data", s.data, "logs", id.String(), "-f")
	follower.Stdout = reader
	if err := follower.Start(); err != nil {
		return nil, err
	}
	pid, err := s.shim(ctx, id)
	if err != nil {
		return nil, err
	}
	most := s.sample(id, pid, reader)
	said, err := c.said()
	if err != nil {
		return nil, err
	}
	const all = lines * chatLine
	err = until(time.Minute, "logs -f has shown all", func() (bool, error) {
		if wrong := reader.wrong.Load(); wrong != nil {
			return false, *wrong
		}
		return reader.bytes.Load() >= all, nil
	})
	late := time.Since(said.Ended)
	got := most()
	shim, server := peakRSS(fmt.Sprint(pid)), peakRSS(fmt.Sprint(s.cmd.Process.Pid))
	if err == nil {
		err = c.release()
	}
	if err == nil {
		err = errors.Join(s.ended(ctx, id), follower.Wait(), reader.whole(lines), s.tailIs(ctx, id, lines))
	}
	if err != nil {
		return nil, err
	}
	return []figure{{
		Work: "a harness that prints 1 GB, `assay logs -f` beside it", Reach: "60 s, no write longer than 1 s, 256 MiB of disk, follower has all",
		Got: fmt.Sprintf("%.0f s, longest write %d ms; disk at most %.0f MiB; shim %.0f MB resident at most, %.1f MB of them private and written to, server %.0f MB; the follower has every line, %.1f MB behind at most, the last after %d ms",
			lines/said.Rate, said.Longest.Milliseconds(), float64(got.disk)/(1<<20), shim, got.dirty, server, float64(got.behind)/1e6, late.Milliseconds()),
		RSS: shim, Seconds: time.Since(began).Seconds(),
	}}, nil
}

// extremes are the most that was seen of something.
type extremes struct {
	disk, behind int64
	dirty        float64
}

// sample looks several times a second until it is asked.
func (s *suiteServer) sample(id assay.RunID, shim int, r *lineReader) (most func() extremes) {
	done, seen := make(chan struct{}), make(chan extremes)
	go func() {
		var e extremes
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-done:
				seen <- e
				return
			case <-tick.C:
			}
			e.dirty = max(e.dirty, privateOf(shim).Dirty)
			if size, err := logs.Size(s.log(id)); err == nil {
				e.behind = max(e.behind, size.Bytes-r.bytes.Load())
			}
			e.disk = max(e.disk, diskUse(s.log(id)))
		}
	}()
	return func() extremes { close(done); return <-seen }
}

func diskUse(dir string) (sum int64) {
	entries, _ := os.ReadDir(dir) // a segment may go meanwhile
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			sum += info.Size()
		}
	}
	return sum
}

// tailIs makes sure that the last lines are the harness's.
func (s *suiteServer) tailIs(ctx context.Context, id assay.RunID, lines int) error {
	var want []byte
	for n := lines - 3; n < lines; n++ {
		want = appendLine(want, n)
	}
	c, err := s.LogTail(ctx, id, 3)
	if err == nil && c.Text != string(want) {
		err = fmt.Errorf("the tail is %q, not %q", c.Text, want)
	}
	return err
}

// lineReader takes what a follower shows and makes sure that it is the harness's lines in their order.
type lineReader struct {
	bytes atomic.Int64
	wrong atomic.Pointer[error]
	next  int
	rest  []byte
	want  []byte
}

var _ io.Writer = (*lineReader)(nil)

func (r *lineReader) Write(p []byte) (int, error) {
	r.rest = append(r.rest, p...)
	at := 0
	for ; len(r.rest)-at >= chatLine; at += chatLine {
		if r.want = appendLine(r.want[:0], r.next); !bytes.Equal(r.rest[at:at+chatLine], r.want) {
			err := fmt.Errorf("logs -f shows %q where line %d should be", r.rest[at:at+chatLine], r.next)
			r.wrong.Store(&err)
			return 0, err
		}
		r.next++
	}
	r.rest = append(r.rest[:0], r.rest[at:]...)
	r.bytes.Add(int64(len(p)))
	return len(p), nil
}

func (r *lineReader) whole(lines int) error {
	if r.next != lines || len(r.rest) > 0 {
		return fmt.Errorf("logs -f has shown %d lines of %d, and %q", r.next, lines, r.rest)
	}
	return nil
}
