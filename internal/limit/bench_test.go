package limit

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

func BenchmarkTryTake(b *testing.B) {
	fresh := func(limits Limits) *Limiter {
		reg := New(time.Now)
		reg.Set(simKey, limits)
		return reg.For(simKey)
	}
	wide := Limits{RequestsPerMinute: 1e12, TokensPerMinute: 1e15, Concurrency: 1e6}
	b.Run("granted and done", func(b *testing.B) {
		s := fresh(wide).Join("run")
		b.ReportAllocs()
		for b.Loop() {
			p, ok := s.TryTake(1000)
			if !ok {
				b.Fatal("refused")
			}
			p.Done(Outcome{Kind: Answered, Tokens: 900})
		}
	})
	for _, shares := range []int{1, 20} {
		for name, limits := range map[string]Limits{"window": {Concurrency: 1}, "requests": {RequestsPerMinute: 1}} {
			b.Run(fmt.Sprintf("refused, %s, %d shares", name, shares), func(b *testing.B) {
				l := fresh(limits)
				l.Join("first").TryTake(1)
				var all []*Share
				for range shares {
					s := l.Join("run")
					s.TryTake(1)
					all = append(all, s)
				}
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					all[i%shares].TryTake(1000)
					i++
				}
			})
		}
	}
	b.Run("granted and done, 20 shares hungry", func(b *testing.B) {
		l := fresh(Limits{RequestsPerMinute: 1e12, Concurrency: 40})
		var all []*Share
		for range 20 {
			all = append(all, l.Join("run"))
		}
		b.ReportAllocs()
		var out [20]Permit
		i := 0
		for b.Loop() {
			out[i%20].Done(Outcome{Kind: Answered})
			for p, ok := all[i%20].TryTake(1); ok; p, ok = all[i%20].TryTake(1) {
				out[i%20].Done(Outcome{Kind: Answered})
				out[i%20] = p
				i++
				break
			}
			i++
		}
	})
	b.Run("parallel", func(b *testing.B) {
		l := fresh(wide)
		var n atomic.Int64
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			s := l.Join(fmt.Sprint(n.Add(1)))
			for pb.Next() {
				if p, ok := s.TryTake(1000); ok {
					p.Done(Outcome{Kind: Answered, Tokens: 900})
				}
			}
		})
	})
}
