package llmtest

import (
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// B is the part of testing.B that InFlight needs.
type B interface {
	Error(...any)
	ResetTimer()
	ReportMetric(n float64, unit string)
}

// Measured is what InFlight found.
type Measured struct {
	PerSecond float64
	CPU       float64 // microseconds of this process per call
}

// InFlight measures calls of which n are in flight at every moment, after 2n that open the connections,
// and reports what it found.
func InFlight(b B, calls, n int, call func() error) (m Measured) {
	round := func(calls int) {
		var wg sync.WaitGroup
		var left atomic.Int64
		left.Store(int64(calls))
		for range n {
			wg.Go(func() {
				for left.Add(-1) >= 0 {
					if err := call(); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		wg.Wait()
	}
	round(2 * n)
	b.ResetTimer()
	began, used := time.Now(), ProcessorTime()
	round(calls)
	m.CPU = float64((ProcessorTime() - used).Nanoseconds()) / float64(calls) / 1000
	m.PerSecond = float64(calls) / time.Since(began).Seconds()
	b.ReportMetric(m.CPU, "cpu-us/call")
	b.ReportMetric(m.PerSecond, "calls/s")
	return m
}

// ProcessorTime is what this process used so far: it tells the cost of a call on a busy machine too.
func ProcessorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
