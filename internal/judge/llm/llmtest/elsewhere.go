package llmtest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

const elsewhere = "LLMTEST_LATENCY"

// Elsewhere starts a server that shares no garbage collector with its callers: this test binary, run
// again, whose TestMain calls ServedElsewhere. It ends with the test.
func Elsewhere(t TB, latency time.Duration) (base string) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env, cmd.Stderr = append(os.Environ(), elsewhere+"="+latency.String()), os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	line := make([]byte, 256)
	n, err := stdout.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(line[:n]))
}

// ServedElsewhere says that this process is the server of Elsewhere and has served, until its standard
// input ended.
func ServedElsewhere(script Script) bool {
	latency, err := time.ParseDuration(os.Getenv(elsewhere))
	if err != nil {
		return false
	}
	server, err := Start(script)
	if err != nil {
		panic(err)
	}
	defer server.Close()
	server.SetLatency(latency)
	fmt.Println(server.BaseURL)
	_, _ = io.Copy(io.Discard, os.Stdin)
	return true
}
