package telemetry

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"github.com/prometheus/common/expfmt"
	names "github.com/prometheus/common/model"

	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/limit"
)

// full is a Telemetry whose every metric has a value.
func full(t testing.TB) *Telemetry {
	t.Helper()
	tel := New(t.Context(), Options{
		Limits: func() []limit.State {
			return []limit.State{{Key: limit.Key{Endpoint: "https://api.example.com/v1", Model: "gpt-9"}, Window: 8, RequestsPerSecond: 2.5,
				TokensPerSecond: 9000, InFlight: 3, Waiting: 4, QuietUntil: epoch, Breaker: limit.Open}}
		},
		Runs: func(context.Context) (map[assay.RunState]int, error) {
			return map[assay.RunState]int{assay.RunRunning: 2, assay.RunPaused: 1}, nil
		},
	})
	for _, class := range []assay.Class{assay.ClassNone, assay.ClassNone, assay.ClassTimeout} {
		_, ended := tel.Call(t.Context(), aCall())
		ended(aReply(class), usd(0.25))
	}
	_, ended := tel.Call(t.Context(), aCall())
	ended(aReply(assay.ClassNetwork), nil)
	tel.Call(t.Context(), aCall()) // in flight
	tel.metrics.spans.WithLabelValues("exported").Inc()
	return tel
}

func TestCallsAreCounted(t *testing.T) {
	text := scrape(t, full(t))
	for _, line := range []string{
		`assay_judge_calls_total{class="verdict",judge="helpful",model="gpt-9",project="shop"} 2`,
		`assay_judge_calls_total{class="timeout",judge="helpful",model="gpt-9",project="shop"} 1`,
		`assay_judge_calls_total{class="network",judge="helpful",model="gpt-9",project="shop"} 1`,
		`assay_judge_calls_in_flight{model="gpt-9"} 1`,
		`assay_judge_call_duration_seconds_count{model="gpt-9"} 4`,
		`assay_judge_call_duration_seconds_sum{model="gpt-9"} 6`,
		`assay_judge_tokens_total{kind="input",model="gpt-9"} 4000`,
		`assay_judge_tokens_total{kind="cached",model="gpt-9"} 800`,
		`assay_judge_tokens_total{kind="cache_write",model="gpt-9"} 1200`,
		`assay_judge_tokens_total{kind="output",model="gpt-9"} 200`,
		`assay_judge_tokens_total{kind="reasoning",model="gpt-9"} 80`,
		`assay_spend_usd_total{judge="helpful",model="gpt-9",project="shop"} 0.75`,
		`assay_spend_unknown_calls_total 1`,
		`assay_runs{state="queued"} 0`,
		`assay_runs{state="running"} 2`,
		`assay_runs{state="paused"} 1`,
		`assay_limit_window{endpoint="https://api.example.com/v1",model="gpt-9"} 8`,
		`assay_limit_requests_per_second{endpoint="https://api.example.com/v1",model="gpt-9"} 2.5`,
		`assay_limit_in_flight{endpoint="https://api.example.com/v1",model="gpt-9"} 3`,
		`assay_limit_tokens_per_second{endpoint="https://api.example.com/v1",model="gpt-9"} 9000`,
		`assay_limit_waiting{endpoint="https://api.example.com/v1",model="gpt-9"} 4`,
		`assay_limit_quiet{endpoint="https://api.example.com/v1",model="gpt-9"} 1`,
		`assay_limit_breaker{endpoint="https://api.example.com/v1",model="gpt-9",state="open"} 1`,
		`assay_limit_breaker{endpoint="https://api.example.com/v1",model="gpt-9",state="closed"} 0`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

// A call that never left is counted by its class: it took no time, no token and no money.
func TestACallThatNeverLeftCostsNothing(t *testing.T) {
	tel := New(t.Context(), Options{})
	_, ended := tel.Call(t.Context(), aCall())
	ended(judge.Reply{Class: assay.ClassAborted}, nil)
	text := scrape(t, tel)
	for _, line := range []string{`class="aborted",judge="helpful",model="gpt-9",project="shop"} 1`, "assay_spend_unknown_calls_total 0",
		`assay_judge_call_duration_seconds_count{model="gpt-9"} 0`, `assay_judge_calls_in_flight{model="gpt-9"} 0`} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no %s in %s", line, text)
		}
	}
}

// Judges that call no model have no place in sums of tokens and money.
func TestJudgesWithoutAModel(t *testing.T) {
	tel := New(t.Context(), Options{})
	_, ended := tel.Call(t.Context(), judge.Call{Project: "shop", Judge: "polite", Kind: assay.JudgeRules})
	ended(judge.Reply{CallAt: epoch, EndedAt: epoch.Add(1)}, nil)
	text := scrape(t, tel)
	if !strings.Contains(text, `{class="verdict",judge="polite",model="",project="shop"} 1`) ||
		strings.Contains(text, "assay_spend_usd_total{") || strings.Contains(text, "assay_judge_tokens_total{") || !strings.Contains(text, "assay_spend_unknown_calls_total 0\n") {
		t.Error(text)
	}
}

// What a provider reports, and what a definition is named, can be anything; watching it breaks nothing.
func TestNoInputBreaksACallOrAScrape(t *testing.T) {
	tel := New(t.Context(), Options{Limits: func() []limit.State {
		return []limit.State{{Key: limit.Key{Endpoint: "::\xff", Model: "\xff\xfe"}, Breaker: "new"}, {Key: limit.Key{Endpoint: "%", Model: "\xff\xfe"}}}
	}})
	for _, name := range []string{"", "\xff\xfe", "new\nline", `"`, strings.Repeat("long", 1000), strings.Repeat("é", 100)} {
		c := aCall()
		c.Project, c.Judge, c.Model = name, name, assay.ModelKey{Endpoint: name, Model: name}
		_, ended := tel.Call(t.Context(), c)
		r := aReply(assay.Class("invented" + name))
		r.Usage = assay.Usage{Known: true, Input: math.MinInt64, Cached: -1, Output: math.MaxInt64, Reasoning: math.MaxInt64}
		r.EndedAt = r.CallAt.Add(-1)
		ended(r, new(assay.USD(-1)))
	}
	text := scrape(t, tel)
	p := expfmt.NewTextParser(names.UTF8Validation)
	if _, err := p.TextToMetricFamilies(strings.NewReader(text)); err != nil {
		t.Errorf("%v in %s", err, text)
	}
	if !strings.Contains(text, `class="other"`) || strings.Contains(text, "invented") || !strings.Contains(text, "assay_limit_window") {
		t.Error(text)
	}
}

// However many judges, projects and models a script makes, the number of series is bounded, and what
// is over the bound is counted all the same.
func TestLabelsAreBounded(t *testing.T) {
	const projects, judges, models = 5, 20, 150
	var limiters []limit.State
	tel := New(t.Context(), Options{Limits: func() []limit.State { return limiters }})
	var calls int
	for p := range projects {
		for j := range judges {
			for m := range models {
				if (p+j+m)%3 != 0 {
					continue
				}
				c := aCall()
				c.Project, c.Judge, c.Model.Model = fmt.Sprint("p", p), fmt.Sprint("j", j), fmt.Sprint("m", m)
				_, ended := tel.Call(t.Context(), c)
				ended(aReply(assay.ClassNone), usd(1))
				calls++
			}
		}
	}
	for m := range models {
		limiters = append(limiters, limit.State{Key: limit.Key{Endpoint: "http://h", Model: fmt.Sprint("m", m)}, InFlight: 1})
	}
	families, err := tel.metrics.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		var sum float64
		var overflow bool
		for _, m := range f.Metric {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
			for _, l := range m.Label {
				overflow = overflow || l.GetValue() == other
			}
		}
		var most int
		var want float64
		switch f.GetName() {
		case "assay_judge_calls_total", "assay_spend_usd_total":
			most, want = maxSets+maxModels+1, float64(calls)
		case "assay_judge_call_duration_seconds":
			most, want = maxModels+1, float64(calls)
		case "assay_judge_tokens_total":
			most, want = 5*(maxModels+1), float64(calls)*(1000+200+300+50+20)
		case "assay_limit_in_flight":
			most, want = maxModels+1, models
		default:
			continue
		}
		if len(f.Metric) > most || sum != want || !overflow {
			t.Errorf("%s: %d series (at most %d), sum %v (want %v), overflow %t", f.GetName(), len(f.Metric), most, sum, want, overflow)
		}
	}
}

// The bound holds and nothing is lost when new names come from many goroutines at once.
func TestCallsFromEverywhereAtOnce(t *testing.T) {
	tel := New(t.Context(), Options{})
	const workers, each = 8, 2000
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := range each {
				c := aCall()
				c.Judge = fmt.Sprint("j", (i*7+w)%500)
				_, ended := tel.Call(t.Context(), c)
				ended(aReply(assay.ClassNone), usd(1))
			}
		})
	}
	all.Wait()
	var sum float64
	families, err := tel.metrics.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "assay_spend_usd_total" {
			if len(f.Metric) > maxSets+1 {
				t.Errorf("%d series", len(f.Metric))
			}
			for _, m := range f.Metric {
				sum += m.GetCounter().GetValue()
			}
		}
	}
	if sum != workers*each {
		t.Errorf("%v of %d calls were counted", sum, workers*each)
	}
}

// A database that does not answer takes the number of runs away and nothing else.
func TestAScrapeLivesWithoutTheDatabase(t *testing.T) {
	tel := New(t.Context(), Options{Runs: func(context.Context) (map[assay.RunState]int, error) { return nil, errors.New("away") }})
	if text := scrape(t, tel); strings.Contains(text, "assay_runs") || !strings.Contains(text, "assay_spend_unknown_calls_total 0") {
		t.Error(text)
	}
}

func TestMetricsAreWellNamed(t *testing.T) {
	tel := full(t)
	gathered, err := tel.metrics.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(gathered).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	p := expfmt.NewTextParser(names.LegacyValidation)
	families, err := p.TextToMetricFamilies(strings.NewReader(scrape(t, tel)))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go_goroutines", "process_resident_memory_bytes", "process_start_time_seconds", "assay_judge_calls_total"} {
		if families[name] == nil {
			t.Errorf("%s is missing", name)
		}
	}
}

// Two of them in one process, as in tests and in a node that comes after another, do not meet.
func TestNothingIsGlobal(t *testing.T) {
	full(t)
	if text := scrape(t, New(t.Context(), Options{})); strings.Contains(text, "gpt-9") {
		t.Error(text)
	}
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "assay_") {
			t.Errorf("%s is in the global registry", f.GetName())
		}
	}
}
