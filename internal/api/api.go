package api

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/store"
)

// Services are what the API asks. All but Log and Metrics are needed to serve; none to describe (Document).
type Services struct {
	Store  store.Store
	Engine *engine.Engine
	// Import reads a file into a project and returns its record, also with an error where there is one.
	Import func(ctx context.Context, p assay.Project, file io.Reader, o assay.ImportOptions) (store.Import, error)
	// CompileJudge reads a definition. One that runs a command is CodeForbidden unless allowCommand.
	CompileJudge func(j JudgeSource, allowCommand bool) (assay.Judge, assay.JudgeVersion, error)
	Models       Models
	Judging      Judging
	Harnesses    Harnesses
	// Owner says who serves. Waiting may be left empty: the API fills it when nobody drives.
	Owner func() OwnerInfo
	// Metrics answers /metrics; nil: there is no such route.
	Metrics http.Handler
	Now     func() time.Time
	Log     *slog.Logger // where errors go that clients are not told; nil drops them
}

// Root is where the routes of this version begin.
const Root = "/api/v1"

// server is what the handlers share.
type server struct {
	Services
	hub   *hub
	gates gates
	ended ended
	large chan struct{} // one for each large finish that is read
}

// New makes the handler of the API: everything under Root, /openapi.json, /healthz and /metrics. It must be
// served through Guard, which decides who may reach it.
func New(s Services) http.Handler {
	mux, _ := build(s)
	return mux
}

// Document is the OpenAPI document as it is served.
func Document() ([]byte, error) {
	_, a := build(Services{})
	return document(a)
}

func build(services Services) (http.Handler, huma.API) {
	s := &server{Services: services, large: make(chan struct{}, largeAtOnce)}
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	s.hub = newHub(s.runView)
	mux := http.NewServeMux()
	a := humago.New(mux, config())
	for _, routes := range []func(huma.API){
		s.ownerRoutes, s.projectRoutes, s.sessionRoutes, s.importRoutes, s.setRoutes, s.labelRoutes,
		s.judgeRoutes, s.gradeRoutes, s.runRoutes, s.itemRoutes, s.verdictRoutes, s.reportRoutes, s.compareRoutes, s.eventRoutes,
		s.exchangeRoutes, s.tryRoutes, s.modelRoutes, s.spendRoutes,
		s.suiteRoutes, s.scheduleRoutes, s.externalRoutes, s.logRoutes, s.caseRoutes,
	} {
		routes(a)
	}
	dropHumaErrors(a)
	mux.HandleFunc("GET /openapi.json", serveDocument(a))
	mux.HandleFunc("GET /healthz", s.healthz)
	s.metricsRoute(mux)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		writeProblem(w, problemOf(assay.Errorf(assay.CodeNotFound, "there is no %s %s", r.Method, r.URL.Path).
			WithHint("/openapi.json names every route")))
	})
	return s.carry(mux), a
}

func config() huma.Config {
	c := huma.DefaultConfig("Assay", "v1")
	c.Info.Description = strings.TrimSpace(about)
	c.CreateHooks = nil // no $schema links in answers
	c.DocsPath, c.SchemasPath, c.OpenAPIPath = "", "", ""
	c.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", schemaName)
	c.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[assay.USD](), reflect.TypeFor[dollars]())
	c.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[assay.Seconds](), reflect.TypeFor[seconds]())
	c.RejectUnknownQueryParameters = true
	c.Formats = map[string]huma.Format{"application/json": huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat}
	c.Transformers = []huma.Transformer{func(_ huma.Context, _ string, v any) (any, error) {
		if m, ok := v.(*huma.ErrorModel); ok {
			return fromHuma(m), nil
		}
		return v, nil
	}}
	c.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"token": {Type: "http", Scheme: "bearer", Description: "needed where the server listens beyond loopback"},
	}
	c.Security = []map[string][]string{{}, {"token": {}}}
	return c
}

const about = `
Grades the recorded sessions of AI agents, runs evaluation harnesses, and says what changed.

Bodies are JSON. Errors are problem+json with a stable code. Lists come in pages: pass next as cursor until it
is absent. A request with an Idempotency-Key can be repeated: it answers with the run that the first one made.
Times are RFC 3339 in UTC, durations nanoseconds,
but seconds where a name ends in _s.
`

// route registers one operation whose errors leave as problems.
func route[I, O any](s *server, a huma.API, op huma.Operation, f func(context.Context, *I) (*O, error)) {
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	op.Responses["default"] = problemResponse(a)
	op.Path = Root + op.Path
	op.BodyReadTimeout = bodyTime // carry takes the deadline away when the body is read
	if body, ok := reflect.TypeFor[I]().FieldByName("Body"); ok && body.Tag.Get("required") == "false" {
		op.RequestBody = &huma.RequestBody{Content: map[string]*huma.MediaType{}}
		defer func() { op.RequestBody.Required = false }() // Register requires every body that is no pointer
	}
	huma.Register(a, op, func(ctx context.Context, in *I) (*O, error) {
		out, err := f(ctx, in)
		if err != nil {
			return nil, s.refuse(ctx, op.OperationID, err)
		}
		return out, nil
	})
}

// refuse turns an error into what the client sees, and logs what the client is not told.
func (s *server) refuse(ctx context.Context, operation string, err error) error {
	if p, ok := err.(*Problem); ok {
		return p
	}
	p := problemOf(err)
	if p.Code == assay.CodeInternal && ctx.Err() == nil {
		s.Log.ErrorContext(ctx, "request failed", "operation", operation, "error", err)
	}
	return p
}

// answer is the common shape of a response with a body.
type answer[T any] struct{ Body T }

func say[T any](v T, err error) (*answer[T], error) {
	if err != nil {
		return nil, err
	}
	return &answer[T]{Body: v}, nil
}

func (s *server) healthz(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = io.WriteString(w, "ok\n")
}
