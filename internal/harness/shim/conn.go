package shim

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"time"

	"assay/internal/assay"
	"assay/internal/logs"
	"assay/internal/process"
)

// Status is what a shim says of its harness.
type Status struct {
	Protocol int              `json:"protocol"`
	Stopping assay.ExitCause  `json:"stopping,omitempty"` // why it was told to end
	Shim     process.Identity `json:"shim"`
	Harness  process.Identity `json:"harness"`
	Began    time.Time        `json:"began"`
	ActiveAt time.Time        `json:"active_at"` // last output or report
	Log      logs.Stat        `json:"log"`
	Events   int64            `json:"events"`
	At       time.Time        `json:"at"`
}

// request is what a client may ask.
type request struct {
	Protocol int             `json:"protocol"`
	Stop     assay.ExitCause `json:"stop"`
	Now      bool            `json:"now,omitempty"` // no grace
}

// Conn is a connection to a living shim. For as long as one is open the harness is no orphan.
type Conn struct {
	c    net.Conn
	r    *bufio.Reader
	half []byte // of a status, read before a deadline
}

// Dial connects to the shim of a launch that Look calls Alive.
func Dial(ctx context.Context, dir string) (*Conn, error) {
	address, done, err := socketAddress(dir)
	if err != nil {
		return nil, fmt.Errorf("reach the shim: %w", err)
	}
	defer done()
	c, err := new(net.Dialer).DialContext(ctx, "unix", address)
	if err != nil {
		return nil, fmt.Errorf("reach the shim: %w", err)
	}
	return &Conn{c: c, r: bufio.NewReader(c)}, nil
}

// Next waits for the next status: the present one at once, then one for each change, at most a few a
// second, and one a second. An error says that the shim is gone, or silent until deadline: Look tells.
func (c *Conn) Next(deadline time.Time) (s Status, err error) {
	if err := c.c.SetReadDeadline(deadline); err != nil {
		return s, err
	}
	line, err := c.r.ReadBytes('\n')
	c.half = append(c.half, line...)
	if err == nil {
		err = json.Unmarshal(c.half, &s)
		c.half = c.half[:0]
	}
	if err == nil && s.Protocol != Protocol {
		err = fmt.Errorf("it speaks protocol %d, and this program %d", s.Protocol, Protocol)
	}
	if err != nil {
		return s, fmt.Errorf("read the shim's status: %w", err)
	}
	return s, nil
}

// Stop asks the shim to end the harness: TERM, its grace, KILL. The first cause counts.
func (c *Conn) Stop(cause assay.ExitCause) error {
	return c.ask(request{Protocol: Protocol, Stop: cause})
}

// Kill is Stop without the grace, or what is left of it.
func (c *Conn) Kill(cause assay.ExitCause) error {
	return c.ask(request{Protocol: Protocol, Stop: cause, Now: true})
}

func (c *Conn) ask(r request) error {
	raw, err := json.Marshal(r)
	if err == nil {
		_, err = c.c.Write(append(raw, '\n'))
	}
	if err != nil {
		return fmt.Errorf("ask the shim to stop: %w", err)
	}
	return nil
}

// Attend keeps a harness from being an orphan whose shim is not understood, until the shim is gone or ctx ends.
func Attend(ctx context.Context, dir string) error {
	c, err := Dial(ctx, dir)
	if err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { c.Close() })()
	defer c.Close()
	_, err = io.Copy(io.Discard, c.c)
	return err
}

// Close leaves the shim to itself.
func (c *Conn) Close() error { return c.c.Close() }
