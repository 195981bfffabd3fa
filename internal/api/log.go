package api

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"assay/internal/assay"
	"assay/internal/logs"
)

// LogChunk is a part of a run's output. Offsets count bytes as they are stored, and mean the same byte for
// ever; Text shows them, U+FFFD where they are not UTF-8.
type LogChunk struct {
	From int64  `json:"from" doc:"offset of the first byte"`
	To   int64  `json:"to" doc:"offset behind the last byte: where to go on"`
	Line int64  `json:"line" doc:"lines before it"`
	Gap  int64  `json:"gap,omitempty" doc:"bytes before from that were asked for and are not stored any more"`
	Text string `json:"text" doc:"it may hold escape sequences of terminals; never half of one, and never half a character"`
	End  bool   `json:"end,omitempty" doc:"the run has ended and this is the last of its output"`
}

// LogHits are lines that were looked for.
type LogHits struct {
	Hits []logs.Hit `json:"hits" nullable:"false"`
	Next int64      `json:"next,omitempty" doc:"pass it as from for the following hits; absent when the log was searched to its end"`
}

// Bounds of what one answer holds.
const (
	logDefault = 256 << 10
	logMost    = 1 << 20
	logHits    = 1000
)

type logInput struct {
	RunInput
	Offset int64 `query:"offset" minimum:"0" doc:"where to begin"`
	Limit  int   `query:"limit" minimum:"1" maximum:"1048576" default:"262144" doc:"bytes at most"`
	Tail   int   `query:"tail" minimum:"1" maximum:"100000" doc:"instead of offset: the last lines"`
}

type logSearchInput struct {
	RunInput
	Text  string `query:"q" required:"true" minLength:"1" maxLength:"1000" doc:"what to look for, as a person sees it: case does not matter, escape sequences do not count, what \\r overwrote is gone"`
	From  int64  `query:"from" minimum:"0" doc:"next of the answer before"`
	Limit int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"lines at most"`
}

func (s *server) logRoutes(a huma.API) {
	tags := []string{"runs"}
	route(s, a, huma.Operation{OperationID: "get-log", Method: http.MethodGet, Path: "/runs/{run}/log", Tags: tags,
		Summary:     "Read a part of a run's output",
		Description: "Text is UTF-8; bytes that are not come as U+FFFD, and as they are in log/raw. Go on at to."},
		func(ctx context.Context, in *logInput) (*answer[LogChunk], error) { return say(s.log(ctx, *in)) })
	route(s, a, huma.Operation{OperationID: "get-raw-log", Method: http.MethodGet, Path: "/runs/{run}/log/raw", Tags: tags,
		Summary:     "Download a run's output, all that is stored, as it was written",
		Description: "Secrets are masked. Where a part is not stored any more a line says so.",
		Responses: map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
			octets: {Schema: &huma.Schema{Type: "string", Format: "binary"}}}}}},
		func(ctx context.Context, in *RunInput) (*huma.StreamResponse, error) { return s.rawLog(ctx, *in) })
	route(s, a, huma.Operation{OperationID: "search-log", Method: http.MethodGet, Path: "/runs/{run}/log/search", Tags: tags,
		Summary: "Find lines of a run's output"},
		func(ctx context.Context, in *logSearchInput) (*answer[LogHits], error) {
			return say(s.searchLog(ctx, *in))
		})
	s.logEventRoutes(a, tags)
}

const octets = "application/octet-stream"

// output finds the run and the folder of its output.
func (s *server) output(ctx context.Context, in RunInput) (run assay.Run, dir string, err error) {
	if run, err = s.run(ctx, in); err != nil {
		return run, "", err
	}
	if run.Suite == nil {
		return run, "", assay.Errorf(assay.CodeInvalid, "run %s is of the kind %s and has no output", run.ID, run.Kind).
			WithHint("`assay verdicts %s` shows what its judges said", run.ID)
	}
	dir = s.Harnesses.LogDir(run.ID)
	if _, err := os.Lstat(dir); err == nil {
		return run, dir, nil
	}
	facts, err := s.Store.Harnesses().Facts(ctx, run.ID)
	if err == nil && facts.LogBytes > 0 {
		return run, "", assay.Errorf(assay.CodeNotFound, "the output of %s is not in this data folder", run.ID).
			WithHint("it lies in the data folder of the process that ran it on %s: ask that one", orElse(facts.Where, "another machine"))
	}
	return run, dir, err
}

func (s *server) log(ctx context.Context, in logInput) (c LogChunk, err error) {
	run, dir, err := s.output(ctx, in.RunInput)
	if err != nil {
		return c, err
	}
	whole := run.State.Terminal()
	var part logs.Chunk
	if in.Tail > 0 {
		part, err = logs.Tail(dir, in.Tail, min(in.Limit, logMost))
	} else {
		part, err = logs.Read(dir, in.Offset, min(in.Limit, logMost), whole)
	}
	if err != nil {
		return c, err
	}
	c = chunkOf(part)
	if whole {
		size, err := logs.Size(dir)
		if err != nil {
			return c, err
		}
		c.End = c.To >= size.Bytes
	}
	return c, nil
}

func chunkOf(c logs.Chunk) LogChunk {
	return LogChunk{From: c.From, To: c.To, Line: c.Line, Gap: c.Gap, Text: strings.ToValidUTF8(string(c.Data), "\uFFFD")}
}

// rawLog streams. Half a download must not look whole: an error ends the connection.
func (s *server) rawLog(ctx context.Context, in RunInput) (*huma.StreamResponse, error) {
	run, dir, err := s.output(ctx, in)
	if err != nil {
		return nil, err
	}
	return &huma.StreamResponse{Body: func(hc huma.Context) {
		_, w := humago.Unwrap(hc)
		w.Header().Set("Content-Type", octets)
		w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", run.ID.String()+".log"))
		if err := logs.Copy(w, dir); err != nil {
			s.Log.DebugContext(ctx, "download of a log broke off", "run", run.ID, "error", err)
			panic(http.ErrAbortHandler)
		}
	}}, nil
}

func (s *server) searchLog(ctx context.Context, in logSearchInput) (h LogHits, err error) {
	_, dir, err := s.output(ctx, in.RunInput)
	if err != nil {
		return h, err
	}
	h.Hits, h.Next, err = logs.Search(ctx, dir, in.Text, in.From, min(in.Limit, logHits))
	if h.Hits == nil {
		h.Hits = []logs.Hit{}
	}
	return h, err
}
