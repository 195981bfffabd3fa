package api

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"assay/internal/assay"
)

// Models is what this process knows of models beside what is stored.
type Models interface {
	// Key spells an endpoint in its plainest form.
	Key(endpoint, model string) (assay.ModelKey, error)
	// Of names the model that a judge's calls go to; ok is false for judges that call none, and for those
	// that cannot be built here.
	Of(v assay.JudgeVersion, settings json.RawMessage) (provider string, key assay.ModelKey, ok bool)
	// Facts are prices and sizes, as they were set or else as the catalogue has them.
	Facts(provider string, key assay.ModelKey) ModelFacts
	// Limiters are those of this process.
	Limiters() map[assay.ModelKey]Limiter
	// Reload takes in what was stored.
	Reload(ctx context.Context) error
}

// ModelFacts is what is known of a model. What is absent is not known.
type ModelFacts struct {
	Price         *assay.Price `json:"price,omitempty" doc:"in US dollars per million tokens; absent is not known, never 0"`
	ContextTokens int64        `json:"context_tokens,omitempty" doc:"prompt and answer together"`
}

// Limiter is how calls to a model are limited in the process that answers. 0 is no bound.
type Limiter struct {
	InFlight          int              `json:"in_flight"`
	Window            int              `json:"window" doc:"calls that may be in flight"`
	RequestsPerMinute float64          `json:"requests_per_minute" doc:"what bounds calls at present, of what was set, learned and told"`
	TokensPerMinute   float64          `json:"tokens_per_minute"`
	LearnedPerMinute  float64          `json:"learned_requests_per_minute" doc:"as the provider's 429s taught"`
	ToldPerMinute     float64          `json:"told_requests_per_minute" doc:"as the provider's headers told"`
	Runs              int              `json:"runs" doc:"that share the model"`
	Waiting           int              `json:"waiting" doc:"of them: they were refused and wait"`
	QuietUntil        *time.Time       `json:"quiet_until,omitempty" doc:"no call leaves before"`
	QuietWhy          string           `json:"quiet_why,omitempty"`
	Breaker           string           `json:"breaker" doc:"closed, open or half_open: one call is out to see"`
	Cause             string           `json:"cause,omitempty" doc:"why the breaker is not closed"`
	Message           string           `json:"message,omitempty"`
	Since             *time.Time       `json:"since,omitempty"`
	ProbeAt           *time.Time       `json:"probe_at,omitempty" doc:"when one call tries again"`
	Granted           int64            `json:"granted" doc:"calls that left"`
	Limited           int64            `json:"limited" doc:"calls that were answered with 429"`
	Refused           map[string]int64 `json:"refused,omitempty" doc:"by reason: how often a call had to wait"`
}

// ModelView is a model with what is known of it.
type ModelView struct {
	assay.ModelKey
	Provider  string               `json:"provider,omitempty" doc:"as the judges name it; compatible is any other server"`
	Judges    []string             `json:"judges" nullable:"false" doc:"of the project, that ask it"`
	Settings  *assay.ModelSettings `json:"settings,omitempty" doc:"what a person set"`
	UpdatedAt *time.Time           `json:"updated_at,omitempty"`
	ModelFacts
	Limiter *Limiter `json:"limiter,omitempty" doc:"absent where no call went to the model yet"`
}

// ModelPut sets what is known of a model, in place of all that was set before.
type ModelPut struct {
	assay.ModelKey
	Price         *assay.Price `json:"price,omitempty" doc:"in place of the catalogue's; as_of and source are filled in where they are absent"`
	Limits        assay.Limits `json:"limits,omitzero"`
	ContextTokens int64        `json:"context_tokens,omitempty" minimum:"0"`
}

type modelListInput struct {
	Project  string `query:"project" doc:"whose judges' models are listed beside those with settings; absent: only these"`
	Endpoint string `query:"endpoint" doc:"with model: only this one"`
	Model    string `query:"model"`
}

type modelInput struct {
	Endpoint string `query:"endpoint" required:"true" doc:"base URL"`
	Model    string `query:"model" required:"true" doc:"as asked"`
}

type putModelInput struct{ Body ModelPut }

func (s *server) modelRoutes(a huma.API) {
	tags := []string{"models"}
	route(s, a, huma.Operation{OperationID: "list-models", Method: http.MethodGet, Path: "/models", Tags: tags,
		Summary: "List models with prices, limits and how their limiters stand"},
		func(ctx context.Context, in *modelListInput) (*answer[Page[ModelView]], error) {
			models, err := s.listModels(ctx, *in)
			return say(pageOf(models, ""), err)
		})
	route(s, a, huma.Operation{OperationID: "put-model", Method: http.MethodPut, Path: "/models", Tags: tags,
		Summary:     "Set a model's price and limits, for all projects",
		Description: "They hold for the next call of this process, and within a second or two for every process of the same database. Nothing that was spent changes."},
		func(ctx context.Context, in *putModelInput) (*answer[ModelView], error) {
			return say(s.putModel(ctx, in.Body))
		})
	route(s, a, huma.Operation{OperationID: "delete-model", Method: http.MethodDelete, Path: "/models", Tags: tags,
		Summary: "Forget what was set for a model", DefaultStatus: http.StatusNoContent},
		func(ctx context.Context, in *modelInput) (*struct{}, error) {
			key, err := s.Models.Key(in.Endpoint, in.Model)
			if err != nil {
				return nil, err
			}
			if err := s.Store.Models().Delete(ctx, key); err != nil {
				return nil, err
			}
			return nil, s.Models.Reload(ctx)
		})
}

func (s *server) listModels(ctx context.Context, in modelListInput) ([]ModelView, error) {
	found, err := s.knownModels(ctx, in.Project)
	if err != nil {
		return nil, err
	}
	if (in.Endpoint == "") != (in.Model == "") {
		return nil, assay.Errorf(assay.CodeInvalid, "endpoint and model belong together").WithHint("give both, or neither")
	}
	limiters := s.Models.Limiters()
	if in.Model != "" {
		key, err := s.Models.Key(in.Endpoint, in.Model)
		if err != nil {
			return nil, err
		}
		one := found[key]
		_, limited := limiters[key]
		if one == nil {
			one = newModelView(key)
		}
		one.ModelFacts = s.Models.Facts(one.Provider, key)
		if found[key] == nil && !limited && one.ModelFacts == (ModelFacts{}) {
			return nil, assay.Errorf(assay.CodeNotFound, "nothing is known of model %s", key).WithHint("`assay models` lists what is; `assay models set` sets its price and limits")
		}
		found = map[assay.ModelKey]*ModelView{key: one}
	}
	models := make([]ModelView, 0, len(found))
	for key, m := range found {
		m.ModelFacts = s.Models.Facts(m.Provider, key)
		if l, ok := limiters[key]; ok {
			m.Limiter = &l
		}
		models = append(models, *m)
	}
	slices.SortFunc(models, func(a, b ModelView) int {
		return cmp.Or(cmp.Compare(a.Endpoint, b.Endpoint), cmp.Compare(a.Model, b.Model))
	})
	return models, nil
}

func newModelView(key assay.ModelKey) *ModelView {
	return &ModelView{ModelKey: key, Judges: []string{}}
}

// knownModels are those that a project's judges ask, and those for which something was set.
func (s *server) knownModels(ctx context.Context, project string) (map[assay.ModelKey]*ModelView, error) {
	found := map[assay.ModelKey]*ModelView{}
	at := func(key assay.ModelKey) *ModelView {
		if found[key] == nil {
			found[key] = newModelView(key)
		}
		return found[key]
	}
	set, err := s.Store.Models().List(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range set {
		v := at(m.ModelKey)
		v.Settings, v.UpdatedAt = &m.Settings, &m.UpdatedAt
	}
	if project == "" {
		return found, nil
	}
	p, err := s.project(ctx, ProjectInput{Project: project})
	if err != nil {
		return nil, err
	}
	judges, err := s.Store.Judges().List(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	for _, j := range judges {
		version, err := s.Store.Judges().Version(ctx, p.ID, j.Version)
		if err != nil {
			return nil, err
		}
		if provider, key, ok := s.Models.Of(version, j.Settings); ok {
			v := at(key)
			v.Provider = provider
			v.Judges = append(v.Judges, j.Name)
		}
	}
	return found, nil
}

func (s *server) putModel(ctx context.Context, m ModelPut) (v ModelView, err error) {
	key, err := s.Models.Key(m.Endpoint, m.Model)
	if err != nil {
		return v, err
	}
	if err := m.Limits.Validate(); err != nil {
		return v, err
	}
	now := s.Now()
	if m.Price != nil {
		if err := m.Price.Validate(); err != nil {
			return v, err
		}
		if m.Price.AsOf == nil {
			m.Price.AsOf = &now
		}
		if m.Price.Source == "" {
			m.Price.Source = assay.SourceSet
		}
	}
	settings := assay.ModelSettings{Price: m.Price, Limits: m.Limits, ContextTokens: m.ContextTokens}
	if settings == (assay.ModelSettings{}) {
		return v, assay.Errorf(assay.CodeInvalid, "nothing is set for model %s", key).WithHint("give a price, a limit or context_tokens; DELETE forgets what was set")
	}
	if err := s.Store.Models().Put(ctx, key, settings, now); err != nil {
		return v, err
	}
	if err := s.Models.Reload(ctx); err != nil {
		return v, err
	}
	all, err := s.listModels(ctx, modelListInput{Endpoint: key.Endpoint, Model: key.Model})
	if err != nil {
		return v, err
	}
	return all[0], nil
}
