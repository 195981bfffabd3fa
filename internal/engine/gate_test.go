package engine

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestAloneMeansAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		if !g.TryEnter() || !g.TryEnter() {
			t.Fatal("an open gate lets two in")
		}
		alone := make(chan error, 1)
		go func() { alone <- g.Alone(t.Context()) }()
		synctest.Wait()
		if g.TryEnter() {
			t.Error("somebody waits to be alone, and another was let in")
		}
		g.Leave()
		synctest.Wait()
		select {
		case <-alone:
			t.Fatal("alone beside another")
		default:
		}
		g.Leave()
		if err := <-alone; err != nil {
			t.Fatal(err)
		}
		if g.TryEnter() {
			t.Error("let in beside one that is alone")
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { alone <- g.Alone(ctx) }()
		synctest.Wait()
		cancel()
		if err := <-alone; !errors.Is(err, context.Canceled) {
			t.Errorf("a second one that is to be alone: %v", err)
		}
		g.LeaveAlone()
		if !g.TryEnter() {
			t.Error("the gate stays closed")
		}
	})
}
