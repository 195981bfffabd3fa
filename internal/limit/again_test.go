package limit

import (
	"testing"
	"time"
)

// Questions that always fail, asked again when nothing else is left, do not look like a provider that is
// down; those that fail for the first time do.
func TestWhatFailedBeforeOpensNoBreaker(t *testing.T) {
	for again, opens := range map[bool]bool{true: false, false: true} {
		now := time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)
		l := New(func() time.Time { return now }).For(Key{"http://model", "m"})
		s := l.Join("run")
		for range 3 * failedCalls {
			if permit, ok := s.TryTake(100); ok {
				permit.Done(Outcome{Kind: Failed, Again: again, Message: "500"})
			}
			now = now.Add(time.Second)
		}
		if _, _, _, _, broken := l.Broken(); broken != opens {
			t.Errorf("failed before %v: the breaker is open %v", again, broken)
		}
	}
}
