package postgres

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
	"assay/internal/store/postgres/pgtest"
)

// proxy stands between a client and the server. It can freeze, as a network does that drops every
// packet, and can swallow the answer to a message that holds a text, and cut the connection.
type proxy struct {
	listener net.Listener
	server   string
	frozen   atomic.Bool
	cutAfter atomic.Pointer[string]
	cuts     atomic.Int32
	mu       sync.Mutex
	conns    []net.Conn
}

// through starts a proxy to the server of a URL and returns it with the URL that goes through it.
func through(t *testing.T, rawURL string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, server: u.Host}
	var group sync.WaitGroup
	group.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("tcp", p.server)
			if err != nil {
				_ = c.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, c, s)
			p.mu.Unlock()
			var mute atomic.Bool
			group.Go(func() { p.pump(s, c, &mute, true) })
			group.Go(func() { p.pump(c, s, &mute, false) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		p.mu.Lock()
		for _, c := range p.conns {
			_ = c.Close()
		}
		p.mu.Unlock()
		group.Wait()
	})
	u.Host = l.Addr().String()
	return p, u.String()
}

func (p *proxy) pump(to, from net.Conn, mute *atomic.Bool, fromClient bool) {
	defer to.Close()
	defer from.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		if p.frozen.Load() {
			continue
		}
		if !fromClient && mute.Load() {
			p.cuts.Add(1) // the server has acted on the message; its answer does not arrive
			return
		}
		text := p.cutAfter.Load()
		if fromClient && text != nil && bytes.Contains(buf[:n], []byte(*text)) && p.cutAfter.CompareAndSwap(text, nil) {
			mute.Store(true)
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

func TestDeadlockAndSerializationFailureAreTriedAgain(t *testing.T) {
	s := open(t, pgtest.Database(t))
	planned(t, s, 2)
	for _, state := range []string{serializationFailure, deadlockDetected} {
		ran := 0
		err := s.write(t.Context(), func(ctx context.Context, t tx) error {
			if ran++; ran < 3 {
				_, err := t.Exec(ctx, "DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '"+state+"'; END $$")
				return err
			}
			_, err := t.exec(ctx, "INSERT INTO idempotency VALUES (1, 'r', $1, 'h', 1, 1)", state)
			return err
		})
		if err != nil || ran != 3 {
			t.Errorf("%s: ran %d times: %v", state, ran, err)
		}
	}
	// A real deadlock: two that lock two rows in opposite order, and meet in the middle the first time.
	var meet sync.WaitGroup
	meet.Add(2)
	lockBoth := func(first, second int) error {
		once := sync.Once{}
		return s.write(context.Background(), func(ctx context.Context, t tx) error {
			for _, n := range []int{first, second} {
				if _, err := t.exec(ctx, "UPDATE sessions SET turns = turns + 1 WHERE user_id = $1", []string{"u0000000", "u0000001"}[n]); err != nil {
					return err
				}
				once.Do(func() { meet.Done(); meet.Wait() })
			}
			return nil
		})
	}
	other := make(chan error, 1)
	go func() { other <- lockBoth(0, 1) }()
	if err := errors.Join(lockBoth(1, 0), <-other); err != nil {
		t.Fatal(err)
	}
	head, err := s.Sessions().Get(t.Context(), 1, "u0000000", "s")
	if err != nil || head.Turns != 2 {
		t.Error(head.Turns, err)
	}
}

func TestTransactionWhoseConnectionDiesIsTriedAgain(t *testing.T) {
	db := pgtest.As(pgtest.Database(t), "victim")
	s := open(t, db)
	ran := 0
	err := s.write(t.Context(), func(ctx context.Context, tx tx) error {
		if _, err := tx.exec(ctx, "INSERT INTO idempotency VALUES (1, 'r', 'k', 'h', 1, 1)"); err != nil {
			return err
		}
		if ran++; ran == 1 {
			pgtest.Cut(t, db)
		}
		return nil
	})
	if err != nil && assay.CodeOf(err) != assay.CodeUnavailable {
		t.Fatal(err)
	}
	// The cut comes just before COMMIT: sent or not is a race of the network, so both ends are right, but
	// never two rows, and never an error of another kind.
	var n int
	if _, err := s.Projects().List(t.Context()); err != nil { // idle connections were cut too
		t.Fatal(err)
	}
	if err := s.pool.QueryRow(t.Context(), "SELECT count(*) FROM idempotency").Scan(&n); err != nil {
		t.Fatal(err)
	}
	if err == nil && n != 1 || err != nil && n != 0 {
		t.Errorf("%d rows, %v", n, err)
	}

	ran = 0
	err = s.write(t.Context(), func(ctx context.Context, tx tx) error {
		if ran++; ran == 1 {
			pgtest.Cut(t, db)
		}
		_, err := tx.exec(ctx, "INSERT INTO idempotency VALUES (2, 'r', 'k', 'h', 1, 1)")
		return err
	})
	if err != nil || ran != 2 {
		t.Errorf("cut before a statement: ran %d times: %v", ran, err)
	}
}

// When the answer to COMMIT never comes nobody knows whether it happened: that is told, and a driver
// may send the same batch again.
func TestLostAnswerToCommit(t *testing.T) {
	db := pgtest.Database(t)
	p, url := through(t, db)
	s := open(t, url)
	f := planned(t, s, 2)
	if _, err := s.Items().Commit(t.Context(), f, store.Batch{Open: []assay.Attempt{attempt(f, 1)}, Now: t0}); err != nil {
		t.Fatal(err)
	}
	retry := graded(f, 1)
	retry.State, retry.Answers, retry.Pass, retry.Class = assay.ItemPending, nil, nil, assay.ClassTimeout
	retry.Attempt.Class = assay.ClassTimeout
	batch := store.Batch{Done: []store.Outcome{retry}, Open: []assay.Attempt{attempt(f, 2)}, Now: t0}
	text := "unnest-marker-timeout"
	batch.Done[0].Error = text
	p.cutAfter.Store(&text)
	_, err := s.Items().Commit(t.Context(), f, batch)
	if assay.CodeOf(err) != assay.CodeUnavailable || p.cuts.Load() != 1 {
		t.Fatalf("got %v after %d cuts", err, p.cuts.Load())
	}
	for range 2 {
		if _, err := s.Items().Commit(t.Context(), f, batch); err != nil {
			t.Fatal(err)
		}
	}
	list, err := s.Items().Pending(t.Context(), f.Run, 0, 10)
	if err != nil || len(list) != 2 || list[0].Counted != 1 || list[0].Attempts != 1 || list[0].Error != text || list[1].Attempts != 1 {
		t.Errorf("%+v %v", list, err)
	}
}

func TestLostServerIsUnavailableAndComesBack(t *testing.T) {
	server := pgtest.Start(t)
	s := open(t, server.Database(t))
	if _, err := s.Projects().Create(t.Context(), "p", assay.DefaultSettings(), t0); err != nil {
		t.Fatal(err)
	}
	server.Stop(t)
	for name, call := range map[string]func() error{
		"read":  func() error { _, err := s.Projects().List(t.Context()); return err },
		"write": func() error { _, err := s.Projects().Create(t.Context(), "q", assay.DefaultSettings(), t0); return err },
		"own":   func() error { _, err := s.Owner().TryOwn(t.Context()); return err },
		"scan": func() error {
			return s.Sessions().Scan(t.Context(), 1, store.SessionQuery{}, func(*store.FrameRow) error { return nil })
		},
	} {
		if err := call(); assay.CodeOf(err) != assay.CodeUnavailable {
			t.Errorf("%s: %v", name, err)
		}
	}
	server.Restart(t)
	if list, err := s.Projects().List(t.Context()); err != nil || len(list) != 1 {
		t.Errorf("after the restart: %v %v", list, err)
	}
}

func TestContextEndsAsItself(t *testing.T) {
	s := open(t, pgtest.Database(t))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Projects().List(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := s.write(ctx, func(ctx context.Context, t tx) error { _, err := t.Exec(ctx, "SELECT pg_sleep(10)"); return err })
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("deadline: %v", err)
	}
	_ = s.Close()
	if _, err := s.Projects().List(t.Context()); assay.CodeOf(err) != assay.CodeUnavailable {
		t.Errorf("closed: %v", err)
	}
}

func TestStatementTimeLimitIsUnavailable(t *testing.T) {
	s := open(t, pgtest.Database(t)+"&statement_timeout=50ms&lock_timeout=50ms")
	f := planned(t, s, 1)
	err := s.write(t.Context(), func(ctx context.Context, t tx) error { _, err := t.Exec(ctx, "SELECT pg_sleep(10)"); return err })
	if assay.CodeOf(err) != assay.CodeUnavailable {
		t.Errorf("statement: %v", err)
	}
	holder := client(t, s)
	mustExec(t, holder, "BEGIN")
	mustExec(t, holder, "SELECT id FROM runs FOR UPDATE")
	if _, err := s.Runs().Beat(t.Context(), f, t0); assay.CodeOf(err) != assay.CodeUnavailable {
		t.Errorf("lock: %v", err)
	}
}

func TestOpenRefusesWithoutTellingThePassword(t *testing.T) {
	db := pgtest.Database(t)
	u, err := url.Parse(db)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("assay", "s3cret")
	s := open(t, u.String())
	info, err := s.Info(t.Context())
	if err != nil || strings.Contains(info.Where, "s3cret") || strings.Contains(info.Where, "@") || !strings.HasSuffix(info.Where, u.Path) || info.Schema < 1 || info.Bytes == 0 {
		t.Errorf("%+v %v", info, err)
	}
	gone := *u
	gone.Host = "127.0.0.1:1"
	noDatabase := *u
	noDatabase.Path = "/missing"
	for url, want := range map[string]assay.Code{
		gone.String():       assay.CodeUnavailable,
		noDatabase.String(): assay.CodeUnavailable,
		strings.Replace(u.String(), "sslmode=disable", "sslmode=s3cret", 1): assay.CodeInvalid,
		"postgres://assay:s3cret@host:port/x":                               assay.CodeInvalid,
	} {
		_, err := Open(t.Context(), url)
		var e *assay.Error
		if !errors.As(err, &e) || e.Code != want || e.Hint == "" || strings.Contains(e.Error()+e.Hint, "s3cret") {
			t.Errorf("%s: %v", url, err)
		}
	}
}
