package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"assay/internal/assay"
	"assay/internal/store"
)

// ItemCalls is every call that was made for one item; none for a reused verdict.
type ItemCalls struct {
	Run      assay.RunID     `json:"run"`
	Seq      int64           `json:"seq"`
	Item     assay.Item      `json:"item"`
	Attempts []assay.Attempt `json:"attempts" nullable:"false" doc:"first to last, with raw answers"`
}

// ItemQuery selects items of a run. Zero fields select all.
type ItemQuery struct {
	State   assay.ItemState
	Class   assay.Class
	Waiting bool
}

type itemListInput struct {
	RunInput
	PageInput
	State string `query:"state" enum:"pending,graded,errored,ungradable,cancelled,abandoned" doc:"absent: every state"`
	Class string `query:"class" doc:"how the last attempt of an item that ended did, e.g. timeout"`
	Wait  bool   `query:"waiting" doc:"only pending items that wait for a time; the last attempt says why"`
}

type itemInput struct {
	RunInput
	Seq int64 `path:"seq" minimum:"1"`
}

func (s *server) itemRoutes(a huma.API) {
	tags := []string{"runs"}
	route(s, a, huma.Operation{OperationID: "list-items", Method: http.MethodGet, Path: "/runs/{run}/items", Tags: tags,
		Summary: "List a run's items in dispatch order"},
		func(ctx context.Context, in *itemListInput) (*answer[Page[assay.Item]], error) {
			run, err := s.run(ctx, in.RunInput)
			if err != nil {
				return nil, err
			}
			if _, known := assay.Policies[assay.Class(in.Class)]; in.Class != "" && !known {
				return nil, assay.Errorf(assay.CodeInvalid, "class %q is not known", in.Class).WithHint("docs/CLASSES.md lists them, e.g. timeout")
			}
			q := store.ItemQuery{State: assay.ItemState(in.State), Class: assay.Class(in.Class), Waiting: in.Wait}
			items, next, err := s.Store.Items().List(ctx, run.ID, q, in.page())
			return say(pageOf(items, next), err)
		})
	route(s, a, huma.Operation{OperationID: "get-item", Method: http.MethodGet, Path: "/runs/{run}/items/{seq}", Tags: tags,
		Summary: "Show every call that was made for an item"},
		func(ctx context.Context, in *itemInput) (*answer[ItemCalls], error) {
			run, err := s.run(ctx, in.RunInput)
			if err != nil {
				return nil, err
			}
			item, err := s.item(ctx, run, in.Seq)
			if err != nil {
				return nil, err
			}
			attempts, err := s.Store.Items().Attempts(ctx, run.ID, in.Seq)
			if attempts == nil {
				attempts = []assay.Attempt{}
			}
			return say(ItemCalls{Run: run.ID, Seq: in.Seq, Item: item, Attempts: attempts}, err)
		})
}
