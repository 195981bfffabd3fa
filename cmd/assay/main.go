// Command assay grades recorded sessions of AI agents. It holds flags, wiring, printing and exit
// codes: what a command means is decided behind the API, of which every command is a client.
package main

import (
	"io"
	"os"
	_ "time/tzdata" // days, months and schedules have zones, on machines without zone files too

	"assay/internal/harness/shim"
)

func main() {
	// Before anything else: a shim stays as small as it can.
	if len(os.Args) == 3 && os.Args[1] == "shim" {
		os.Exit(shim.Main(os.Args[2]))
	}
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main without the process: it returns the exit status.
func run(args []string, in io.Reader, out, err io.Writer) int {
	a := &app{in: in, out: out, err: err}
	stop := a.catchSignals()
	defer stop()
	return a.main(args)
}
