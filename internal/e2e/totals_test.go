package e2e

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
)

// Tokens and cost that the program tells are, to the token and to the billionth of a dollar, those that
// the provider told: over retries, second questions, answers that got lost and kill -9. What nobody told
// is held at its reservation.
func TestTotalsAreTheProvidersOwn(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w *world) { totals(t, w, "chat_completions") })
}

// Anthropic counts apart what was read from the cache and what was written to it.
func TestTotalsOfMessages(t *testing.T) {
	t.Parallel()
	totals(t, newWorld(t, ""), "messages")
}

func totals(t *testing.T, w *world, protocol string) {
	b := newTill(t, w, odd)
	w.ok("import", w.sessions(150))
	w.ok("judge", "apply", w.judge("j", "api: "+protocol, fmt.Sprintf("max_tokens: %d", longest)))
	w.priced(odd)
	w.ok("grade", "--judge", "j", "--per-stratum", "1000", "--concurrency", "12", "--detach")
	for range 3 {
		before := w.model.Count()
		p := w.start("watch", "r1")
		eventually(t, 20*time.Second, "calls leave", func() bool { return w.model.Count() >= before+20 })
		<-time.After(time.Duration(rand.IntN(100)) * time.Millisecond)
		p.kill()
	}
	if code := w.start("watch", "r1").wait(time.Minute); code != 0 {
		t.Errorf("watch ended with %d", code)
	}
	w.compare(t, b, "r1")
}

// compare holds everything that the program says of a run's money against the bill.
func (w *world) compare(t *testing.T, b *till, run string) {
	t.Helper()
	v := w.view(run)
	adds(t, v.Counts)
	if v.State != assay.RunCompleted || v.Counts.Pending != 0 {
		t.Errorf("%s: %+v", v.State, v.Counts)
	}
	c, p := w.serve()
	defer p.kill()
	var want assay.Spend
	seen := map[string]bool{}
	for _, a := range attempts(w.calls(c, v.ID)) {
		if !a.MayHaveLeft() {
			continue
		}
		want.Attempts++
		if a.Reserved == nil {
			t.Fatalf("a call left without a reservation: %+v", a)
		}
		if seen[a.RequestID] {
			t.Errorf("two attempts tell the request %s", a.RequestID)
		}
		one, known := b.of(a.RequestID)
		seen[a.RequestID] = known
		if known && one.told && !one.free && b.rates.cost(one.usage) > *a.Reserved {
			t.Errorf("a call cost %s, set aside were %s", b.rates.cost(one.usage), a.Reserved)
		}
		switch {
		case a.Status == assay.AttemptUnknown:
			want.Unknown, want.Held, want.HeldN, want.Unmetered = want.Unknown+1, want.Held+*a.Reserved, want.HeldN+1, want.Unmetered+1
		case known && one.free:
			if a.Cost == nil || *a.Cost != 0 {
				t.Errorf("an error cost %v: %+v", a.Cost, a)
			}
		case known && one.told:
			if cost := b.rates.cost(one.usage); a.Usage != one.usage || a.Cost == nil || *a.Cost != cost {
				t.Errorf("%s: %+v at %v, the provider told %+v at %s", a.RequestID, a.Usage, a.Cost, one.usage, cost)
			}
			want.Cost += b.rates.cost(one.usage)
			want.Usage = assay.Spend{Usage: want.Usage}.Add(assay.Spend{Usage: one.usage}).Usage
		default:
			if a.Cost != nil || a.Usage.Known {
				t.Errorf("nobody told what %q cost, and it cost %v: %+v", a.RequestID, a.Cost, a)
			}
			want.Held, want.HeldN, want.Unmetered = want.Held+*a.Reserved, want.HeldN+1, want.Unmetered+1
		}
	}
	requests := int64(w.model.Count())
	if v.Spend.Spend != want || want.Cost == 0 || want.Attempts < requests || want.Attempts-want.Unknown > requests {
		t.Errorf("the run says %+v, the sum is %+v for %d requests", v.Spend, want, requests)
	}
	if bill := b.bill(); bill < want.Cost || bill > want.Cost+want.Held {
		t.Errorf("the bill is %s, the run says %s and %s held", bill, want.Cost, want.Held)
	}
	for _, by := range []string{"run", "judge", "model", "day"} {
		var s api.Spending
		if err := json.Unmarshal([]byte(w.ok("spend", "--by", by, "--json")), &s); err != nil {
			t.Fatal(err)
		}
		var sum assay.Spend
		for _, g := range s.Groups {
			sum = sum.Add(g.Spend.Spend)
		}
		if s.Total.Spend != want || sum != want {
			t.Errorf("by %s: total %+v, groups %+v, want %+v", by, s.Total, sum, want)
		}
		if len(s.Months) == 0 || s.Months[0].Charged != want.Cost+want.Held {
			t.Errorf("months %+v, want %s", s.Months, want.Cost+want.Held)
		}
	}
}
