package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"assay/internal/api/client"
	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/harness"
	"assay/internal/harness/shim"
	"assay/internal/logs"
)

// suiteServer is `assay serve` with suites.
type suiteServer struct {
	*client.Client
	o    options
	data string
	cmd  *exec.Cmd
	runs []assay.RunID
}

// serveSuites applies suites of these commands, each with a secret that is masked, and starts a server.
func serveSuites(ctx context.Context, o options, commands map[string][]string) (*suiteServer, error) {
	data, secret := filepath.Join(o.Dir, "data"), filepath.Join(o.Dir, "secret")
	if err := os.WriteFile(secret, []byte("sk-proj-0123456789abcdefghijklmnop"), 0o600); err != nil {
		return nil, err
	}
	var yaml bytes.Buffer
	yaml.WriteString("suites:\n")
	for name, argv := range commands {
		list, err := json.Marshal(argv) // is YAML too
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&yaml, "  %s:\n    command: %s\n    env: {pass: [PATH], secrets: {API_KEY: {file: %q}}}\n    grace: 1s\n    orphan_grace: 5s\n", name, list, secret)
	}
	file := filepath.Join(o.Dir, "assay.yaml")
	if err := os.WriteFile(file, yaml.Bytes(), 0o600); err != nil {
		return nil, err
	}
	if _, err := assayRun(ctx, o, data, "suite", "apply", file); err != nil {
		return nil, err
	}
	cmd, url, err := serve(ctx, o, data)
	if err != nil {
		return nil, err
	}
	c, err := client.Server(url, "")
	if err != nil {
		end(cmd)
		return nil, err
	}
	return &suiteServer{Client: c, o: o, data: data, cmd: cmd}, nil
}

// serve starts the server and returns once it answers.
func serve(ctx context.Context, o options, data string) (cmd *exec.Cmd, url string, err error) {
	address := filepath.Join(o.Dir, "address")
	if err := os.Remove(address); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, "", err
	}
	cmd = exec.CommandContext(ctx, o.Binary, "--data", data, "serve", "--listen", "127.0.0.1:0", "--address-file", address)
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	for time.Since(began) < 10*time.Second {
		if url, err := os.ReadFile(address); err == nil && len(url) > 0 && answers(string(bytes.TrimSpace(url))) {
			return cmd, string(bytes.TrimSpace(url)), nil
		}
		time.Sleep(time.Millisecond)
	}
	end(cmd)
	return nil, "", errors.New("the server did not answer within 10 s")
}

func end(cmd *exec.Cmd) {
	_ = cmd.Process.Signal(syscall.SIGTERM)
	_ = cmd.Wait() // ended by our own signal
}

// kill ends the server as a fault would, and leaves its harnesses to their shims.
func (s *suiteServer) kill() {
	s.Close()
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait() // killed on purpose
}

// stop cancels what runs and ends the server.
func (s *suiteServer) stop(ctx context.Context) {
	for _, id := range s.runs {
		_, _ = s.Cancel(ctx, id, true) // has ended already, mostly
	}
	for _, id := range s.runs {
		_ = s.ended(ctx, id) // the orphan grace ends what is left
	}
	s.Close()
	end(s.cmd)
}

func (s *suiteServer) start(ctx context.Context, suite string) (assay.RunID, error) {
	r, err := s.RunSuite(ctx, "default", suite, engine.SuiteRequest{By: "bench"}, "")
	if err == nil {
		s.runs = append(s.runs, r.ID)
	}
	return r.ID, err
}

// ended waits for the end of a run.
func (s *suiteServer) ended(ctx context.Context, id assay.RunID) error {
	return until(time.Minute, id.String()+" ends", func() (bool, error) {
		v, err := s.Run(ctx, id)
		return v.State.Terminal(), err
	})
}

func (s *suiteServer) log(id assay.RunID) string { return harness.LogDir(s.data, id) }

// stored waits until so many bytes of a run's output are.
func (s *suiteServer) stored(id assay.RunID, least int64) error {
	return until(2*time.Minute, "the output of "+id.String()+" is stored", func() (bool, error) {
		size, err := logs.Size(s.log(id))
		return size.Bytes >= least, err
	})
}

// shim is the process that stands between the server and a run's harness.
func (s *suiteServer) shim(ctx context.Context, id assay.RunID) (pid int, err error) {
	dir := filepath.Join(harness.RunDir(s.data, id), "a1")
	if err := until(10*time.Second, "the shim of "+id.String()+" lives", func() (bool, error) {
		standing, err := shim.Look(dir)
		return standing == shim.Alive, err
	}); err != nil {
		return 0, err
	}
	conn, err := shim.Dial(ctx, dir)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	status, err := conn.Next(time.Now().Add(10 * time.Second))
	return status.Shim.PID, err
}

// until looks every few milliseconds for what must come.
func until(within time.Duration, what string, is func() (bool, error)) error {
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		if ok, err := is(); ok || err != nil {
			return err
		}
		if time.Since(began) > within {
			return fmt.Errorf("not within %s: %s", within, what)
		}
	}
}
