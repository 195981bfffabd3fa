package wrap

import (
	"context"
	"errors"
	"strconv"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/durable"
	"assay/internal/engine"
	"assay/internal/harness/report"
	"assay/internal/logs"
)

// Server is what is told. *client.Client is one.
type Server interface {
	StartExternal(ctx context.Context, project string, q engine.ExternalRequest, key string) (api.SuiteRun, error)
	SendReport(ctx context.Context, id assay.RunID, r api.ExternalReport) (api.ExternalReported, error)
	Finish(ctx context.Context, id assay.RunID, f engine.Finish) (api.RunView, error)
}

// How often a server is told, and how long it may take.
const (
	sendEvery   = 250 * time.Millisecond // while there is something to tell
	beatEvery   = 5 * time.Second        // while there is not
	slowest     = 15 * time.Second       // between two tries while nobody answers
	requestTime = 20 * time.Second
)

// sender tells a server what a spool holds.
type sender struct {
	spool   *spool
	server  Server
	state   sent
	loaded  bool
	heard   bool           // the server has answered
	hopeful bool           // one is expected to: that it does not is worth a word, also before it ever did
	full    bool           // the last piece was a large one: there is surely more
	stop    func()         // called when a cancel was asked for
	end     *engine.Finish // of a command of this process; else it stands in the spool
}

// step tells one piece, and says whether there may be more right away. It starts the run where that is not
// done yet.
func (s *sender) step(ctx context.Context, over bool) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	if !s.loaded {
		if s.state, err = s.spool.sent(); err != nil {
			return false, err
		}
		s.loaded = true
	}
	if s.state.Run == 0 {
		r, err := s.server.StartExternal(ctx, s.spool.start.Project, s.spool.start.Ask, s.spool.start.Key)
		if err != nil {
			return false, err
		}
		if r.ID == 0 {
			return false, errors.New("the answer names no run: is it an Assay server?")
		}
		s.state.Run, s.heard = r.ID, true
		return s.told()
	}
	r, events, bytes, err := s.piece(over)
	if err != nil {
		return false, err
	}
	got, err := s.server.SendReport(ctx, s.state.Run, r)
	if at, ok := sentSoFar(err); ok { // it has less than was thought, for instance from an older copy
		s.state.Log = at
		return s.told()
	}
	if err != nil {
		return false, err
	}
	s.heard = true
	if got.Stop && s.stop != nil {
		s.stop()
	}
	more = s.state.Events != events || bytes > 0
	s.full = len(r.Metrics) >= mostEvents/2 || bytes >= mostLog/2
	s.state.Events = events
	if bytes > 0 {
		s.state.Log = got.Sent
	}
	if !more {
		return false, nil
	}
	return s.told()
}

// piece is the next report, with where it ends in the events and how many bytes of output it holds.
func (s *sender) piece(over bool) (r api.ExternalReport, events int64, bytes int, err error) {
	list, events, err := s.spool.next(s.state.Events)
	if err != nil {
		return r, 0, 0, err
	}
	for _, e := range list {
		add(&r, e)
	}
	c, err := logs.Read(s.spool.path(logDir), s.state.Log, mostLog, over)
	if err != nil {
		return r, 0, 0, err
	}
	if len(c.Data) > 0 {
		r.Log = &api.SentLog{Offset: c.From, Gap: c.From - s.state.Log, Data: c.Data}
	}
	return r, events, len(c.Data), nil
}

func add(r *api.ExternalReport, e report.Event) {
	switch p, m := e.Progress, e.Metric; {
	case p != nil:
		r.Progress = &api.ReportedProgress{Done: p.Done, Total: p.Total, Text: p.Text, Guessed: p.Guessed, At: &p.At}
	case m != nil:
		r.Metrics = append(r.Metrics, api.ReportedMetric{Name: m.Name, Value: m.Value, At: &m.At})
	case e.Link != nil:
		r.Links = append(r.Links, *e.Link)
	case e.Experiment != "":
		r.Experiment = e.Experiment
	}
}

// sentSoFar reads from an error how much output the server has.
func sentSoFar(err error) (int64, bool) {
	var e *assay.Error
	if !errors.As(err, &e) || e.Details["log_sent"] == "" {
		return 0, false
	}
	at, bad := strconv.ParseInt(e.Details["log_sent"], 10, 64)
	return at, bad == nil
}

// told notes for a later process what the server has. Where that cannot be kept it is told again, which
// changes nothing.
func (s *sender) told() (more bool, err error) {
	_ = s.spool.write(sentFile, s.state)
	return true, nil
}

// all tells everything that the spool of an ended command holds, and its end.
func (s *sender) all(ctx context.Context) error {
	for more := true; more; {
		var err error
		if more, err = s.step(ctx, true); err != nil {
			return err
		}
	}
	f, err := s.end, error(nil)
	if f == nil {
		f, err = s.spool.finished()
	}
	if err != nil {
		return err
	}
	if f == nil { // killed: nobody knows how its command ended, and the server finds it silent
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, 3*requestTime)
	defer cancel()
	_, err = s.server.Finish(ctx, s.state.Run, *f)
	return err
}

// patiently is all, again and again until ctx ends, where the server has answered before. One that never
// did is asked once: the command has ended, and whoever called it waits.
func (s *sender) patiently(ctx context.Context) error {
	for {
		err := s.all(ctx)
		if err == nil || !s.heard {
			return err
		}
		timer := time.NewTimer(sendEvery)
		select {
		case <-ctx.Done():
			timer.Stop()
			return err
		case <-timer.C:
		}
	}
}

// follow tells what comes, until ctx ends. It says once that a server does not answer, and once that it
// does again.
func (s *sender) follow(ctx context.Context, say func(string, ...any)) {
	failing, said, wait := false, false, time.Duration(0)
	for {
		more, err := s.step(ctx, false)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			failing = true
			if !said && (s.heard || s.hopeful) { // else nobody serves the data, and this process tells itself at the end
				said = true
				say("cannot report: %s; the command runs on, and what is to be told is kept", err)
			}
			wait = min(max(2*wait, time.Second), slowest)
		default:
			if said {
				say("reports again")
			}
			failing, said = false, false
			if wait = s.beat(); more {
				wait = sendEvery
			}
		}
		if more && s.full {
			continue
		}
		if !s.pause(ctx, wait, !failing) {
			return
		}
	}
}

// beat is how often a server hears from a command that says nothing: it must not take the run for lost.
func (s *sender) beat() time.Duration {
	stale := s.spool.start.Ask.Stale.Duration()
	if stale == 0 {
		stale = engine.DefaultStale
	}
	return max(sendEvery, min(beatEvery, stale/3))
}

// pause waits, and where it is eager only until there is something to tell.
func (s *sender) pause(ctx context.Context, d time.Duration, eager bool) bool {
	tick := time.NewTicker(sendEvery)
	defer tick.Stop()
	for end := time.Now().Add(d); ; {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
		}
		if time.Now().After(end) || eager && s.news() {
			return true
		}
	}
}

// news says whether the spool holds what was not told.
func (s *sender) news() bool {
	r, events, bytes, err := s.piece(false)
	return err == nil && (bytes > 0 || events != s.state.Events || r.Progress != nil)
}

// Send tells what a spool holds that an earlier process left, and removes it.
func Send(ctx context.Context, dir string, connect func(Start) (Server, error)) (assay.RunID, error) {
	sp, err := openSpool(dir)
	if errors.Is(err, errBusy) {
		return 0, assay.Errorf(assay.CodeUnavailable, "%s: %w", dir, err).WithHint("its command may still run")
	}
	if err != nil {
		return 0, assay.Errorf(assay.CodeNotFound, "%w", err).WithHint("name a folder that `assay wrap` said it kept")
	}
	defer sp.close()
	server, err := connect(sp.start)
	if err != nil {
		return 0, err
	}
	s := &sender{spool: sp, server: server}
	if err := s.all(ctx); err != nil {
		return s.state.Run, err
	}
	return s.state.Run, sp.drop()
}

// PlaceOf is where a kept run was to be told.
func PlaceOf(dir string) (Place, error) {
	var s Start
	err := durable.ReadJSON(dir, startFile, &s)
	return s.Place, err
}
