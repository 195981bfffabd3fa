// Command bench prints the speed table: what each part reaches on this machine, beside the disk's
// fsync time. `make bench` runs it; nothing fails on a slow machine.
//
// Each figure is measured in a process of its own (bench runs itself in a role), so that one part's
// memory does not count for another's.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// figure is one line that a role prints.
type figure struct {
	Work    string  `json:"work"`
	Reach   string  `json:"reach"`  // the bar
	Got     string  `json:"got"`    // the measurement
	RSS     float64 `json:"rss_mb"` // peak of the process that did the work, 0: not measured
	Seconds float64 `json:"seconds"`
}

// role is one measurement in a process of its own.
type role struct {
	name string
	run  func(ctx context.Context, o options) ([]figure, error)
}

type options struct {
	Items, Sessions, Megabytes int
	Dir                        string
	Binary                     string
	URL                        string
	Latency                    time.Duration
	Rate, Batch                int
}

var roles = []role{
	{"durable", durable},
	{"llm", llm},
	{"sdk", sdk},
	{"limit", limits},
	{"waiting", waiting},
	{"plan", plan},
	{"import", importFile},
	{"start", start},
	{"suites", suites},
	{"report", reports},
}

// hidden roles help the others.
var hidden = []role{{"fill", fill}, {"model", model}, {"typed", typed}, {"chatter", chatter}, {"reportread", reportRead}}

func main() {
	var o options
	as := flag.String("role", "", "measure one part in this process (internal)")
	only := flag.String("only", "", "comma-separated parts: durable,llm,sdk,limit,waiting,plan,import,start,suites,report")
	flag.IntVar(&o.Items, "items", 100_000, "items of the durable part")
	flag.IntVar(&o.Sessions, "sessions", 1_000_000, "stored sessions of the plan part")
	flag.IntVar(&o.Megabytes, "megabytes", 1024, "size of the imported file")
	flag.StringVar(&o.Dir, "dir", "", "where to write; a temporary folder when empty")
	flag.StringVar(&o.Binary, "assay", "bin/assay", "the built program")
	flag.StringVar(&o.URL, "url", "", "endpoint of a hidden role (internal)")
	flag.DurationVar(&o.Latency, "latency", latency, "of the hidden role model (internal)")
	flag.IntVar(&o.Rate, "rate", 0, "lines a second of the hidden role chatter (internal)")
	flag.IntVar(&o.Batch, "batch", 1, "lines a write of the hidden role chatter (internal)")
	flag.Parse()
	var err error
	if *as != "" {
		err = runRole(*as, o)
	} else {
		err = runAll(*only, o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func runRole(name string, o options) error {
	for _, r := range append(roles, hidden...) {
		if r.name != name {
			continue
		}
		figures, err := r.run(context.Background(), o)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, f := range figures {
			if err := json.NewEncoder(os.Stdout).Encode(f); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("no part is called %q", name)
}

func runAll(only string, o options) error {
	dir, err := os.MkdirTemp(o.Dir, "assay-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	fsync, err := fsyncTime(dir)
	if err != nil {
		return err
	}
	fmt.Printf("machine: %s\nfsync of 4 KiB: %s (median of 100)\n\n", machine(), fsync.Round(time.Microsecond))
	fmt.Printf("| Work | Reach | Got | peak RSS | took |\n|---|---|---|---|---|\n")
	for _, r := range roles {
		if only != "" && !strings.Contains(","+only+",", ","+r.name+",") {
			continue
		}
		if err := child(r.name, dir, o); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return nil
}

// child runs one role and prints its figures as rows.
func child(name, dir string, o options) error {
	work, err := os.MkdirTemp(dir, name+"-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "-role", name, "-dir", work, "-assay", o.Binary,
		"-items", fmt.Sprint(o.Items), "-sessions", fmt.Sprint(o.Sessions), "-megabytes", fmt.Sprint(o.Megabytes))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var f figure
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			return fmt.Errorf("read %q: %w", lines.Text(), err)
		}
		rss := "-"
		if f.RSS > 0 {
			rss = fmt.Sprintf("%.0f MB", f.RSS)
		}
		fmt.Printf("| %s | %s | %s | %s | %.1f s |\n", f.Work, f.Reach, f.Got, rss, f.Seconds)
	}
	return cmd.Wait()
}

func machine() string {
	model := "unknown processor"
	if b, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(b)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
				break
			}
		}
	}
	return fmt.Sprintf("%d x %s, %s/%s, %s", runtime.NumCPU(), model, runtime.GOOS, runtime.GOARCH, runtime.Version())
}
