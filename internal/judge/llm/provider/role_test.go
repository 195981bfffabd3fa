package provider

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"assay/internal/judge/llm/llmtest"
)

// role names what this test binary does when it is run again as another process.
const role = "PROVIDER_TEST_ROLE"

func servedElsewhere() bool {
	switch os.Getenv(role) {
	case "server":
		serve()
	case "caller":
		callThroughProxy()
	default:
		return false
	}
	return true
}

// again runs this test binary in a role.
func again(t testing.TB, name string, env ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), append(env, role+"="+name)...)
	cmd.Stderr = os.Stderr
	return cmd
}

// serverProcess runs the server apart from us, so that it does not share our garbage collector.
func serverProcess(t testing.TB, latency time.Duration) (base string) {
	cmd := again(t, "server", "LATENCY="+latency.String())
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
	t.Cleanup(func() { stdin.Close(); cmd.Wait() })
	line := make([]byte, 256)
	n, err := stdout.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(line[:n]))
}

// serve ends with its stdin.
func serve() {
	latency, err := time.ParseDuration(os.Getenv("LATENCY"))
	if err != nil {
		panic(err)
	}
	server, err := llmtest.Start(llmtest.Fixed(yes))
	if err != nil {
		panic(err)
	}
	server.SetLatency(latency)
	fmt.Println(server.BaseURL)
	io.Copy(io.Discard, os.Stdin)
	server.Close()
}
