package api

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"assay/internal/assay"
	"assay/internal/store"
)

// Exchange is everything that was said between a judge and its model about one item.
type Exchange struct {
	Item     assay.Item            `json:"item"`
	Judge    string                `json:"judge"`
	Version  assay.Hash            `json:"judge_version"`
	Attempts []ExchangeAttempt     `json:"attempts" nullable:"false" doc:"first to last; none for a reused verdict"`
	Seen     map[assay.Hash]string `json:"seen,omitempty" doc:"the transcripts that the attempts' seen name, as the judge was shown them"`
}

// ExchangeAttempt is a call with its request. The raw response is kept masked and bounded; the request
// is made anew from the judge's version and the session, and shown only when the transcript in it has
// the hash that was stored when the call left.
type ExchangeAttempt struct {
	assay.Attempt
	Request    json.RawMessage `json:"request,omitempty" doc:"the request's body as it was sent; no key is part of it"`
	NotRebuilt string          `json:"not_rebuilt,omitempty" doc:"why there is no request"`
}

func (s *server) exchangeRoutes(a huma.API) {
	route(s, a, huma.Operation{OperationID: "get-exchange", Method: http.MethodGet, Path: "/runs/{run}/items/{seq}/exchange", Tags: []string{"runs"},
		Summary: "Show what was sent for an item, what the judge saw and what came back"},
		func(ctx context.Context, in *itemInput) (*answer[Exchange], error) {
			run, err := s.run(ctx, in.RunInput)
			if err != nil {
				return nil, err
			}
			return say(s.exchange(ctx, run, in.Seq))
		})
}

// item reads one item of a run.
func (s *server) item(ctx context.Context, run assay.Run, seq int64) (assay.Item, error) {
	items, _, err := s.Store.Items().List(ctx, run.ID, store.ItemQuery{}, store.Page{Cursor: store.Cursor(seq - 1), Limit: 1})
	if err != nil {
		return assay.Item{}, err
	}
	if len(items) == 0 || items[0].Seq != seq {
		return assay.Item{}, assay.Errorf(assay.CodeNotFound, "run %s has no item %d", run.ID, seq).
			WithHint("items are numbered from 1; `assay runs show %s` says how many there are", run.ID)
	}
	return items[0], nil
}

func (s *server) exchange(ctx context.Context, run assay.Run, seq int64) (x Exchange, err error) {
	if err := refuseHarness(run, "nobody was asked about its cases", "`assay runs item %s %d` shows the case", run.ID, seq); err != nil {
		return x, err
	}
	item, err := s.item(ctx, run, seq)
	if err != nil {
		return x, err
	}
	attempts, err := s.Store.Items().Attempts(ctx, run.ID, seq)
	if err != nil {
		return x, err
	}
	judge := run.Spec.Judges[item.Judge]
	x = Exchange{Item: item, Judge: judge.Name, Version: judge.Version, Attempts: make([]ExchangeAttempt, len(attempts))}
	for i, a := range attempts {
		x.Attempts[i].Attempt = a
	}
	if err := s.addSeen(ctx, run, &x); err != nil {
		return x, err
	}
	return x, s.rebuild(ctx, run, judge, &x)
}

// addSeen reads each transcript once.
func (s *server) addSeen(ctx context.Context, run assay.Run, x *Exchange) error {
	for _, a := range x.Attempts {
		if _, known := x.Seen[a.Seen]; known || a.Seen == "" {
			continue
		}
		packed, err := s.Store.Bodies().Seen(ctx, run.ProjectID, a.Seen)
		if assay.CodeOf(err) == assay.CodeNotFound {
			continue // its call never left, or it was erased
		}
		if err != nil {
			return err
		}
		text, err := store.DecompressBody(packed)
		if err != nil {
			return err
		}
		if x.Seen == nil {
			x.Seen = map[assay.Hash]string{}
		}
		x.Seen[a.Seen] = string(text)
	}
	return nil
}

// rebuild makes the attempts' requests. What it cannot make has a reason and is no error.
func (s *server) rebuild(ctx context.Context, run assay.Run, judge assay.RunJudge, x *Exchange) error {
	none := func(why string) error {
		for i := range x.Attempts {
			x.Attempts[i].NotRebuilt = why
		}
		return nil
	}
	version, err := s.Store.Judges().Version(ctx, run.ProjectID, judge.Version)
	switch {
	case len(x.Attempts) == 0:
		return nil
	case err != nil:
		return err
	case version.Kind != assay.JudgeLLM:
		return none("a judge of the kind " + string(version.Kind) + " asks no model")
	}
	session, hash, err := s.sessionOf(ctx, x.Item.Content)
	if assay.CodeOf(err) == assay.CodeNotFound {
		return none("the session's body is no longer stored")
	}
	if err != nil {
		return err
	}
	q := PromptQuestion{Session: session, Content: hash, Repeat: x.Item.Repeat}
	for i := range x.Attempts {
		a := &x.Attempts[i]
		p, err := s.Judging.Prompt(version, judge.Settings, q)
		switch {
		case err != nil:
			return none("the judge cannot be built here: " + err.Error())
		case !a.MayHaveLeft():
			a.NotRebuilt = "no call left"
		case p.Request == nil:
			a.NotRebuilt = "the question ends without a call: " + p.Error
		case a.Seen != "" && a.Seen != p.Seen.Hash:
			a.NotRebuilt = "this program shows the session otherwise than the judge saw it then"
		default:
			a.Request = p.Request
		}
		q = after(q, a.Attempt, p.Units)
	}
	return nil
}

// after is the question that follows an attempt. An answer that could not be read is shown until there
// is one that could.
func after(q PromptQuestion, a assay.Attempt, units int) PromptQuestion {
	switch {
	case a.Status != assay.AttemptDone:
	case a.Class == assay.ClassMalformed:
		q.Unreadable = &a
	case a.Class == assay.ClassNone:
		q.Answered += units
		q.Unreadable = nil
	}
	return q
}
