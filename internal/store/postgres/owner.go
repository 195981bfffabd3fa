package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"assay/internal/store"
)

const (
	// A loss is noticed within pingEvery + pingWithin, less than the second that a confirmation lasts.
	pingEvery  = 250 * time.Millisecond
	pingWithin = 700 * time.Millisecond
	// idleLimit is how long the server keeps the lock of a process that has stopped or vanished without
	// closing its connection: eight missed pings.
	idleLimit = 2 * time.Second
	grace     = time.Second
)

type owner struct{ *Store }

// TryOwn takes a session's advisory lock on a connection of its own, which is the lock's whole life.
func (o owner) TryOwn(ctx context.Context) (store.Ownership, error) {
	config := o.pool.Config().ConnConfig
	config.ConnectTimeout = min(config.ConnectTimeout, 2*time.Second)
	c, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, translate(ctx, err)
	}
	var got bool
	err = c.QueryRow(ctx, "SELECT pg_try_advisory_lock("+lockKey("owner")+")").Scan(&got)
	if err == nil && got {
		// Servers before 14 do not know the setting: there a stopped owner keeps its lock until TCP gives up.
		_, err = c.Exec(ctx, "SELECT set_config('idle_session_timeout', $1, false) WHERE current_setting('idle_session_timeout', true) IS NOT NULL",
			idleLimit.String())
	}
	if err != nil || !got {
		closeConn(c)
		return nil, translate(ctx, err)
	}
	own := &ownership{conn: c, lost: make(chan struct{}), quit: make(chan struct{}), done: make(chan struct{})}
	go own.watch()
	return own, nil
}

type ownership struct {
	conn *pgx.Conn // of watch alone until done is closed
	lost chan struct{}
	quit chan struct{}
	done chan struct{}
	once sync.Once
}

// watch pings until Release, or until a ping fails: then the lock may be another's already.
func (o *ownership) watch() {
	defer close(o.done)
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-o.quit:
			return
		case <-tick.C:
		}
		ctx, cancel := context.WithTimeout(context.Background(), pingWithin)
		err := o.conn.Ping(ctx)
		cancel()
		if err != nil {
			close(o.lost)
			return
		}
	}
}

func (o *ownership) Lost() <-chan struct{} { return o.lost }

func (o *ownership) Grace() time.Duration { return grace }

// Release ends the connection, and the lock with it.
func (o *ownership) Release() error {
	o.once.Do(func() {
		close(o.quit)
		<-o.done
		closeConn(o.conn)
	})
	return nil
}
