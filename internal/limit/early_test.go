package limit

import (
	"fmt"
	"testing"
	"time"
)

// Refusals of everything tell that a provider takes no call now, and nothing of its rate: once it takes
// calls again, they are through in seconds, also where only few are in flight at a time.
func TestRefusalsOfEverythingTeachNoRate(t *testing.T) {
	for refused, within := range map[int]time.Duration{1: 10 * time.Second, 3: 20 * time.Second, 5: 30 * time.Second, 8: 2 * time.Minute} {
		for _, most := range []int{1, 3, 10} {
			t.Run(fmt.Sprintf("%d refused, %d at once", refused, most), func(t *testing.T) {
				now := simBegan
				l := New(func() time.Time { return now }).For(simKey)
				s := l.Join("run")
				for calls, accepted := 0, 0; accepted < 20; {
					var permits []Permit
					for len(permits) < most {
						p, ok := s.TryTake(1000)
						if !ok {
							break
						}
						permits = append(permits, p)
					}
					if len(permits) == 0 {
						at, _ := s.Wait()
						now = later(now.Add(time.Millisecond), at)
						continue
					}
					now = now.Add(100 * time.Millisecond)
					for _, p := range permits {
						if calls++; calls <= refused {
							p.Done(Outcome{Kind: Limited, RetryAfter: 50 * time.Millisecond})
							continue
						}
						accepted++
						p.Done(Outcome{Kind: Answered, Tokens: 1000})
					}
				}
				if took := now.Sub(simBegan); took > within {
					t.Errorf("20 calls took %s after %d refusals that asked for 50 ms each", took, refused)
				}
			})
		}
	}
}
