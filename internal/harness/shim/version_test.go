//go:build linux

package shim

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/durable"
)

// What launch.json, a status and a request of another version say is not taken for what this one means.
func TestAnotherVersionsShimIsTold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := Understood(dir); err != nil {
		t.Errorf("nothing was launched: %v", err)
	}
	for _, protocol := range []int{0, Protocol, Protocol + 1} {
		if err := (durable.Disk{}).WriteJSON(dir, launchFile, launched{Protocol: protocol}); err != nil {
			t.Fatal(err)
		}
		err := Understood(dir)
		if want := fmt.Sprintf("protocol %d, and this one speaks %d", protocol, Protocol); (err == nil) != (protocol == Protocol) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v", protocol, err)
		}
	}
	l, err := net.Listen("unix", filepath.Join(dir, socketFile))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			json.NewEncoder(c).Encode(Status{Protocol: Protocol + 1})
		}
	}()
	c, err := Dial(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if s, err := c.Next(time.Now().Add(5 * time.Second)); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("it speaks protocol %d", Protocol+1)) {
		t.Errorf("%+v %v", s, err)
	}
}

// A program that was exchanged for another version while its server ran starts nothing for it, and says so.
func TestAnOrderOfAnotherVersionStartsNothing(t *testing.T) {
	t.Parallel()
	a := newLaunch(t, "hello")
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := takeLock(a.dir)
	if err != nil {
		t.Fatal(err)
	}
	a.order.Protocol, a.order.Mark = Protocol+1, MarkVariable+"=r1-1-x"
	if err = (durable.Disk{}).WriteJSON(a.dir, launchFile, launched{Protocol: Protocol + 1, Mark: a.order.Mark}); err == nil {
		err = start(program(), a.dir, a.order, lock)
	}
	lock.Close()
	if err != nil {
		t.Fatal(err)
	}
	e := a.exit(5 * time.Second)
	if want := "start the server again"; e.Exit.Cause != assay.ExitLaunchFailed || !strings.Contains(e.Exit.Error, want) || e.Harness.PID != 0 {
		t.Errorf("%+v, want %q", e, want)
	}
	if _, err := os.Lstat(a.order.LogDir); err == nil {
		t.Error("it began")
	}
}

// A client of another version keeps the harness from being an orphan, as any does, and is not obeyed: what it
// asks may mean something else.
func TestARequestOfAnotherVersionIsNotObeyed(t *testing.T) {
	t.Parallel()
	a := newLaunch(t, "sleeper")
	a.launch()
	a.said("pids")
	c := a.dial()
	fmt.Fprintf(c.c, `{"protocol":%d,"stop":"cancel"}`+"\n", Protocol+1)
	until(t, 5*time.Second, "it is complained about", func() bool {
		raw, _ := os.ReadFile(filepath.Join(a.dir, outputFile))
		return strings.Contains(string(raw), fmt.Sprintf("its protocol is %d", Protocol+1))
	})
	if line, err := bufio.NewReader(c.c).ReadString('\n'); err != nil || strings.Contains(line, "stopping") {
		t.Errorf("%q %v", line, err)
	}
	a.stop(assay.ExitCancel)
	a.exit(a.order.Grace + soon)
}

// exit.json is the last: what it tells of is durable by then, and its own name before anybody acts on it.
func TestTheOrderOfAnEnd(t *testing.T) {
	t.Parallel()
	a := newLaunch(t, "argv")
	steps := filepath.Join(a.dir, stepsFile)
	if err := os.MkdirAll(a.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(steps, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	a.launch()
	a.exit(5 * time.Second)
	var raw []byte
	until(t, 5*time.Second, "the folder is durable", func() bool {
		raw, _ = os.ReadFile(steps)
		return strings.HasSuffix(string(raw), "rename exit.json <nil>\nsync a1 <nil>\n")
	})
	want := []string{
		"sync " + filepath.Base(filepath.Dir(a.order.LogDir)), // the name of the log's folder
		"sync shim.json.new", "rename shim.json", "sync a1",
		"sync events", "sync 00000000000000000000-000000000000", "sync log",
		"sync exit.json.new", "rename exit.json", "sync a1",
	}
	if text := strings.Join(want, " <nil>\n") + " <nil>\n"; string(raw) != text {
		t.Errorf("%s\nwant\n%s", raw, text)
	}
}

// A shim that is killed between making the control group and saying so leaves an empty one.
func TestTheControlGroupOfALaunchThatWasCutShortIsSwept(t *testing.T) {
	t.Parallel()
	dir, group := t.TempDir(), filepath.Join(t.TempDir(), "assay-x")
	if err := os.Mkdir(group, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := (durable.Disk{}).WriteJSON(dir, launchFile, launched{Protocol: Protocol, Mark: MarkVariable + "=r1-1-" + t.Name(), Cgroup: group}); err != nil {
		t.Fatal(err)
	}
	if left, err := Sweep(dir, time.Second); err != nil || len(left) > 0 {
		t.Errorf("%v %v", left, err)
	}
	if _, err := os.Lstat(group); err == nil {
		t.Error("it is left")
	}
	a := newLaunch(t, "sleeper") // and what launch.json names is what is made
	a.launch()
	a.await(Alive)
	var l launched
	if err := durable.ReadJSON(a.dir, launchFile, &l); err != nil {
		t.Fatal(err)
	}
	if made := a.started().Tree.Cgroup; made != "" && made != l.Cgroup {
		t.Errorf("%s, and launch.json says %s", made, l.Cgroup)
	}
}
