package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// fsyncTime is the median time to make 4 KiB durable in dir.
func fsyncTime(dir string) (time.Duration, error) {
	f, err := os.Create(filepath.Join(dir, "fsync"))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	block := make([]byte, 4096)
	times := make([]time.Duration, 100)
	for i := range times {
		began := time.Now()
		if _, err := f.Write(block); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		times[i] = time.Since(began)
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}

// peakRSS is the most memory that a process has had resident, in MB; 0 where that is not told.
func peakRSS(pid string) float64 { return told("/proc/"+pid+"/status", "VmHWM:") }

// told is a line of a file of /proc that ends in kB, in MB; 0 where there is none.
func told(file, line string) float64 {
	b, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for l := range strings.Lines(string(b)) {
		if value, ok := strings.CutPrefix(l, line); ok {
			kb, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 64)
			if err != nil {
				return 0
			}
			return kb / 1024
		}
	}
	return 0
}

// private is the memory that a process shares with nobody, in MB. Dirty is what it has written: heap, stacks,
// variables. Clean is pages of files, mostly of the program, that no other process has mapped just now; the
// kernel can drop them.
type private struct{ Dirty, Clean float64 }

func privateOf(pid int) private {
	file := fmt.Sprintf("/proc/%d/smaps_rollup", pid)
	return private{Dirty: told(file, "Private_Dirty:"), Clean: told(file, "Private_Clean:")}
}

// processorOf is the processor time of a process so far.
func processorOf(pid int) (time.Duration, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(raw), ") ") // behind the name
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0, fmt.Errorf("read the processor time of process %d: %q", pid, raw)
	}
	var ticks int64
	for _, f := range fields[11:13] { // utime, stime
		n, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * (time.Second / 100), nil // USER_HZ
}

func median(xs []float64) float64 {
	xs = slices.Clone(xs)
	slices.Sort(xs)
	return xs[len(xs)/2]
}
