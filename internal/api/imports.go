package api

import (
	"context"
	"io"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"assay/internal/assay"
	"assay/internal/store"
)

// ImportInput is a file on its way in.
type ImportInput struct {
	ProjectInput
	File   string `query:"file" doc:"its name, for people and rejects"`
	Format string `query:"format" doc:"absent: detected"`
	By     string `query:"by" doc:"who imports"`
	Strict bool   `query:"strict" doc:"store nothing unless every session in the file can be read"`

	body io.Reader
}

// Resolve takes the body as it comes: a file may be larger than memory.
func (in *ImportInput) Resolve(ctx huma.Context) []error {
	streamBody(ctx.Context())
	in.body = ctx.BodyReader()
	return nil
}

type importListInput struct {
	ProjectInput
	PageInput
}

type rejectListInput struct {
	ProjectInput
	PageInput
	Import int64 `path:"import"`
}

func (s *server) importRoutes(a huma.API) {
	tags := []string{"imports"}
	file := &huma.MediaType{Schema: &huma.Schema{Type: "string", Format: "binary", Description: "the file as it is"}}
	route(s, a, huma.Operation{OperationID: "import", Method: http.MethodPost, Path: "/projects/{project}/imports", Tags: tags,
		Summary:       "Import a file of sessions",
		Description:   "The file is streamed and may be of any size. What cannot be read is rejected with a line and a reason and the rest is kept; with strict nothing is.",
		DefaultStatus: http.StatusCreated,
		RequestBody:   &huma.RequestBody{Required: true, Content: map[string]*huma.MediaType{ndjson: file, "application/json": {}}}},
		func(ctx context.Context, in *ImportInput) (*answer[store.Import], error) {
			return say(s.importFile(ctx, in))
		})
	route(s, a, huma.Operation{OperationID: "list-imports", Method: http.MethodGet, Path: "/projects/{project}/imports", Tags: tags,
		Summary: "List imports, newest first"},
		func(ctx context.Context, in *importListInput) (*answer[Page[store.Import]], error) {
			p, err := s.project(ctx, in.ProjectInput)
			if err != nil {
				return nil, err
			}
			imports, next, err := s.Store.Imports().List(ctx, p.ID, in.page())
			return say(pageOf(imports, next), err)
		})
	route(s, a, huma.Operation{OperationID: "list-rejects", Method: http.MethodGet, Path: "/projects/{project}/imports/{import}/rejects", Tags: tags,
		Summary: "List what an import did not take, and why"},
		func(ctx context.Context, in *rejectListInput) (*answer[Page[store.Reject]], error) {
			p, err := s.project(ctx, in.ProjectInput)
			if err != nil {
				return nil, err
			}
			rejects, next, err := s.Store.Imports().Rejects(ctx, p.ID, in.Import, in.page())
			return say(pageOf(rejects, next), err)
		})
}

func (s *server) importFile(ctx context.Context, in *ImportInput) (store.Import, error) {
	gate := s.gates.of(in.Project)
	if !gate.sessions.TryRLock() {
		return store.Import{}, busyRekeying(in.Project)
	}
	defer gate.sessions.RUnlock()
	p, err := s.project(ctx, in.ProjectInput) // under the gate: its settings stay as they are
	if err != nil {
		return store.Import{}, err
	}
	if p.Rekeying {
		return store.Import{}, busyRekeying(in.Project)
	}
	imp, err := s.Import(ctx, p, in.body, assay.ImportOptions{File: in.File, Format: in.Format, By: in.By, Strict: in.Strict})
	if err == nil || imp.ID == 0 {
		return imp, err
	}
	// Kept sessions are the answer, with the count of rejects; only a file that stored nothing is an error.
	if assay.CodeOf(err) == assay.CodeRejected && imp.State == "done" {
		return imp, nil
	}
	p2 := problemOf(err)
	if p2.Details == nil {
		p2.Details = map[string]string{}
	}
	p2.Details["import"] = strconv.FormatInt(imp.ID, 10)
	if p2.Code == assay.CodeInternal {
		s.Log.ErrorContext(ctx, "import failed", "import", imp.ID, "error", err)
	}
	return imp, p2
}
