package e2e

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/judge/llm/llmtest"
)

var unitLine = regexp.MustCompile(`(?m)^- (unit_\d+) is (t\d+\S*), `)

// unitsOf are the units that a request asks about.
func unitsOf(r *llmtest.Request) (names []string) {
	for _, m := range unitLine.FindAllStringSubmatch(r.Prompt(), -1) {
		names = append(names, m[2])
	}
	return names
}

// aboutUnits answers about each unit that a request asks about.
func aboutUnits(r *llmtest.Request, good func(unit string) bool) string {
	members := []string{fmt.Sprintf(`"answer_token":%q`, r.Token())}
	for i, unit := range unitsOf(r) {
		members = append(members, fmt.Sprintf(`"unit_%d":{"unit":%q,"good":{"evidence":[],"reason":"as seen in %s","value":%v}}`, i+1, unit, unit, good(unit)))
	}
	return "{" + strings.Join(members, ",") + "}"
}

// A judge of turns asks about a long session in several calls. Through kill -9 between them, units that
// were answered are not asked about again, and the session's verdict is made of all of them.
func TestUnitsThroughKills(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, w *world) {
		const turns, perCall, kills = 23, 4, 3
		type asked struct {
			units []string
			at    time.Time
		}
		var mu sync.Mutex
		var all []asked
		w.model.SetScript(func(r *llmtest.Request) llmtest.Step {
			mu.Lock()
			defer mu.Unlock()
			all = append(all, asked{unitsOf(r), time.Now()})
			if len(all) == 2 { // an unreadable answer in the middle
				return llmtest.Garbage()
			}
			return llmtest.Wrote(func(r *llmtest.Request) string {
				return aboutUnits(r, func(unit string) bool { return unit != "t7" && unit != "t20" })
			}).After(200 * time.Millisecond)
		})
		w.imports(talk("long", turns, 4000))
		file := w.judge("j", fmt.Sprintf("units_per_call: %d", perCall))
		w.edit(file, "criteria:", "unit: turn\ncriteria:")
		w.edit(file, "    type: boolean", "    type: boolean\n    roll_up: share")
		w.edit(file, "  - name: ok", "  - name: good")
		w.edit(file, "llm:", "pass: good >= 0.9\nllm:")
		w.ok("judge", "apply", file)
		w.ok("grade", "--judge", "j", "--detach")
		var died []death
		for range kills {
			before := w.model.Count()
			p := w.start("watch", "r1")
			eventually(t, 20*time.Second, "another call is out", func() bool { return w.model.Count() >= before+2 })
			d := death{from: time.Now()}
			p.kill()
			d.to = time.Now()
			died = append(died, d)
		}
		if code := w.start("watch", "r1").wait(30 * time.Second); code != 0 {
			t.Fatalf("watch ended with %d", code)
		}
		answered := map[string]int{}
		mu.Lock()
		for i, a := range all {
			if i == 1 {
				continue
			}
			for _, u := range a.units {
				answered[u]++
			}
		}
		calls := len(all)
		mu.Unlock()
		repeated := 0
		for u, n := range answered {
			if n > 1 {
				repeated += n - 1
			}
			if n > 1+kills {
				t.Errorf("unit %s was asked about %d times", u, n)
			}
		}
		if len(answered) != turns || repeated > kills*perCall || calls > 1+(turns+perCall-1)/perCall+kills {
			t.Errorf("%d units, %d repeated, %d calls", len(answered), repeated, calls)
		}
		onlyCutUnitsRepeat(t, w.model.Records(), died, func(i int) []string { return all[i].units })
		var verdict assay.Verdict
		lines := strings.Split(strings.TrimSpace(w.ok("verdicts", "r1", "--json")), "\n")
		for _, line := range lines {
			var v assay.Verdict
			if err := json.Unmarshal([]byte(line), &v); err != nil {
				t.Fatal(err)
			}
			if v.Unit == "" {
				verdict = v
			}
		}
		if len(verdict.Findings) != 1 || string(verdict.Findings[0].Value) != fmt.Sprint(21.0/23) || verdict.Pass == nil || !*verdict.Pass {
			t.Errorf("the session's verdict: %+v of %d lines", verdict, len(lines))
		}
		v := w.view("r1")
		if v.Counts.Graded != 1 || v.Spend.Attempts < int64(calls) || v.Spend.Attempts-v.Spend.Unknown > int64(calls) {
			t.Errorf("%+v %+v for %d calls", v.Counts, v.Spend, calls)
		}
	})
}

// onlyCutUnitsRepeat checks that a call whose units were asked about again was cut by a kill, or was the
// one with the unreadable answer.
func onlyCutUnitsRepeat(t *testing.T, records []llmtest.Record, died []death, units func(i int) []string) {
	t.Helper()
	const onItsWay = 250 * time.Millisecond // an answer that had left may not have been stored
	for i, r := range records {
		again := false
		for later := i + 1; later < len(records); later++ {
			again = again || slices.ContainsFunc(units(i), func(u string) bool { return slices.Contains(units(later), u) })
		}
		cut := i == 1
		for _, d := range died {
			cut = cut || r.Arrived.Before(d.to) && (r.Finished.IsZero() || r.Finished.Add(onItsWay).After(d.from))
		}
		if again && !cut {
			t.Errorf("units %v were asked about again although their call was answered at %s", units(i), r.Finished.Format(time.StampMilli))
		}
	}
}
