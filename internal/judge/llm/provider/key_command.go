package provider

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"assay/internal/process"
)

// keyCommand is a program that prints a key. Calls that come while it runs wait for its one answer,
// each as long as it may.
type keyCommand struct {
	argv []string
	env  []string
	most time.Duration // that it may take
	now  func() time.Time

	mu     sync.Mutex
	held   string
	at     time.Time
	asking *asking // nil while it does not run
}

type asking struct {
	done chan struct{}
	key  string
	err  error
}

const (
	commandLimit = 10 * time.Second
	commandGrace = time.Second
	commandFresh = 5 * time.Minute
)

func (c *keyCommand) key(ctx context.Context) (string, error) {
	c.mu.Lock()
	if c.held != "" && c.now().Sub(c.at) < commandFresh {
		defer c.mu.Unlock()
		return c.held, nil
	}
	one := c.asking
	if one == nil {
		one = &asking{done: make(chan struct{})}
		c.asking = one
		go c.ask(one)
	}
	c.mu.Unlock()
	select {
	case <-one.done:
		return one.key, one.err
	case <-ctx.Done():
		return "", fmt.Errorf("the key's command has not ended yet: %w", ctx.Err())
	}
}

func (c *keyCommand) ask(one *asking) {
	one.key, one.err = c.run()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asking = nil
	if one.err == nil {
		c.held, c.at = one.key, c.now()
	}
	close(one.done)
}

// run starts the program. Its standard error is not shown: it may hold what should stay where it is.
func (c *keyCommand) run() (string, error) {
	result, err := process.Run(context.Background(), process.Spec{Argv: c.argv, Env: c.env, MaxStdout: 64 << 10, Limit: c.most, Grace: commandGrace})
	if err != nil {
		return "", fmt.Errorf("the key's command could not be started: %w; api_key_command names it", err)
	}
	switch {
	case result.End == process.EndLimit:
		return "", fmt.Errorf("the key's command did not end within %s", c.most)
	case result.Signal != 0:
		return "", fmt.Errorf("the key's command was ended by a signal (%s)", result.Signal)
	case result.Code != 0:
		return "", fmt.Errorf("the key's command ended with %d; run it by hand to see why", result.Code)
	}
	line, _, _ := strings.Cut(string(result.Stdout), "\n")
	key := strings.TrimSpace(line)
	if key == "" {
		return "", errors.New("the key's command printed nothing on its first line")
	}
	return key, nil
}

func (c *keyCommand) name() string { return "the key's command" }

func (c *keyCommand) refused(key string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.held == key {
		c.held = ""
	}
}
