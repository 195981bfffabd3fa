package node

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/judge/llm/provider"
	"assay/internal/limit"
	"assay/internal/price"
	"assay/internal/store"
)

// models are the prices and limits that this process goes by: one book and one registry for all runs and
// for what is asked on demand, with what people set as it was last read.
type models struct {
	store  store.Store
	limits *limit.Registry
	book   *price.Book
	judges judges

	mu  sync.Mutex
	set map[assay.ModelKey]assay.Limits
}

func newModels(st store.Store, limits *limit.Registry) *models {
	book := price.NewBook()
	return &models{store: st, limits: limits, book: book, judges: newJudges(book)}
}

// Reload takes in what is stored: it holds for the next call.
func (m *models) Reload(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	list, err := m.store.Models().List(ctx)
	if err != nil {
		return err
	}
	m.book.Overrides.Set(list)
	fresh := map[assay.ModelKey]assay.Limits{}
	for _, model := range list {
		fresh[model.ModelKey] = model.Settings.Limits
		if model.Settings.Limits != m.set[model.ModelKey] {
			m.limits.Set(limit.Key(model.ModelKey), limit.Limits(model.Settings.Limits))
		}
	}
	for key, old := range m.set {
		if _, kept := fresh[key]; !kept && old != (assay.Limits{}) {
			m.limits.Set(limit.Key(key), limit.Limits{})
		}
	}
	m.set = fresh
	return nil
}

// reloadEvery is how often what another process of the same database set is looked for.
const reloadEvery = time.Second

// follow reads again and again until ctx ends. Nobody but the owner writes into a data folder, so that
// this is for databases only.
func (m *models) follow(ctx context.Context, failed func(error)) {
	failing := false
	for pause(ctx, reloadEvery) {
		err := m.Reload(ctx)
		if err != nil && !failing && ctx.Err() == nil {
			failed(err)
		}
		failing = err != nil
	}
}

// price is what grading goes by.
func (m *models) price(provider string, key assay.ModelKey) *assay.Price {
	return m.book.Facts(provider, key).Price
}

func (m *models) Key(endpoint, model string) (assay.ModelKey, error) {
	plain, err := provider.LogicalEndpoint(endpoint)
	if err == nil && model == "" {
		err = assay.Errorf(assay.CodeInvalid, "no model is named").WithHint("give the endpoint and the model's name as judges ask for it")
	}
	return assay.ModelKey{Endpoint: plain, Model: model}, err
}

func (m *models) Of(v assay.JudgeVersion, settings json.RawMessage) (provider string, key assay.ModelKey, ok bool) {
	if v.Kind != assay.JudgeLLM {
		return "", key, false
	}
	built, err := m.judges.build(v, settings)
	if err != nil {
		return "", key, false
	}
	defer built.Close()
	metered, ok := built.(judge.Metered)
	if !ok {
		return "", key, false
	}
	return metered.Provider(), metered.Model(), true
}

func (m *models) Facts(provider string, key assay.ModelKey) api.ModelFacts {
	f := m.book.Facts(provider, key)
	return api.ModelFacts{Price: f.Price, ContextTokens: f.ContextTokens}
}

func (m *models) Limiters() map[assay.ModelKey]api.Limiter {
	all := map[assay.ModelKey]api.Limiter{}
	for _, s := range m.limits.States() {
		all[assay.ModelKey(s.Key)] = limiterView(s)
	}
	return all
}

func limiterView(s limit.State) api.Limiter {
	v := api.Limiter{
		InFlight: s.InFlight, Window: s.Window, RequestsPerMinute: 60 * s.RequestsPerSecond, TokensPerMinute: 60 * s.TokensPerSecond,
		LearnedPerMinute: 60 * s.LearnedPerSecond, ToldPerMinute: 60 * s.ToldPerSecond, Runs: s.Shares, Waiting: s.Waiting,
		QuietUntil: known(s.QuietUntil), QuietWhy: string(s.QuietWhy), Breaker: string(s.Breaker), Granted: s.Granted, Limited: s.Limited,
	}
	if s.Breaker != limit.Closed {
		v.Cause, v.Message, v.Since, v.ProbeAt = s.Cause.String(), s.Message, known(s.Since), known(s.ProbeAt)
	}
	for why, n := range s.Refused {
		if v.Refused == nil {
			v.Refused = map[string]int64{}
		}
		v.Refused[string(why)] = n
	}
	return v
}

// known is nil for a time that is not.
func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}
