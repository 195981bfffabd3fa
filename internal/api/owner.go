package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"assay/internal/assay"
	"assay/internal/store"
)

// OwnerInfo says which process answers and whether it drives runs.
type OwnerInfo struct {
	PID     int           `json:"pid"`
	Since   time.Time     `json:"since"`
	Driving bool          `json:"driving" doc:"false: it serves and looks, and leaves runs where they are"`
	Ticking bool          `json:"ticking" doc:"false: it starts nothing that schedules owe, as a command that passes"`
	Version string        `json:"version"`
	Waiting []assay.RunID `json:"waiting" nullable:"false" doc:"runs that wait for somebody who drives"`
}

// Check is what the database says of itself and of the standing rules.
type Check struct {
	Store    store.Info `json:"store"`
	Findings []string   `json:"findings" nullable:"false" doc:"one sentence per rule that does not hold"`
}

func (s *server) ownerRoutes(a huma.API) {
	route(s, a, huma.Operation{OperationID: "get-owner", Method: http.MethodGet, Path: "/owner",
		Summary: "Who serves, and does it drive runs"},
		func(ctx context.Context, _ *struct{}) (*answer[OwnerInfo], error) { return say(s.owner(ctx)) })
	route(s, a, huma.Operation{OperationID: "check", Method: http.MethodGet, Path: "/check",
		Summary: "Check the database and the standing rules"},
		func(ctx context.Context, _ *struct{}) (*answer[Check], error) { return say(s.check(ctx)) })
	route(s, a, huma.Operation{OperationID: "get-overview", Method: http.MethodGet, Path: "/overview",
		Summary: "What the status page shows: what needs a person, what runs, what ran"},
		func(ctx context.Context, _ *struct{}) (*answer[Overview], error) { return say(s.Overview(ctx)) })
}

func (s *Services) owner(ctx context.Context) (OwnerInfo, error) {
	o := s.Owner()
	if o.Waiting == nil {
		o.Waiting = []assay.RunID{}
	}
	if o.Driving || len(o.Waiting) > 0 {
		return o, nil
	}
	runs, err := s.Store.Runs().Waiting(ctx, s.Now())
	if err != nil {
		return o, err
	}
	for _, r := range runs {
		if r.Kind != assay.RunExternal { // it reports, and nobody drives it
			o.Waiting = append(o.Waiting, r.ID)
		}
	}
	return o, nil
}

func (s *server) check(ctx context.Context) (Check, error) {
	info, err := s.Store.Info(ctx)
	if err != nil {
		return Check{}, err
	}
	findings, err := s.Store.Check(ctx)
	if findings == nil {
		findings = []string{}
	}
	return Check{Store: info, Findings: findings}, err
}
