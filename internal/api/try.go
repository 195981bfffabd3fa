package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/store"
)

// TryRequest asks one judge about one session. With DryRun nothing is stored and nobody is called, and
// the judge may be a definition that was not applied.
type TryRequest struct {
	Judge    string     `json:"judge,omitempty" doc:"name of a judge"`
	Source   string     `json:"source,omitempty" doc:"with dry_run, in place of a name: the definition, as YAML text"`
	Folder   string     `json:"folder,omitempty" doc:"where the relative paths of a definition begin, on the server's machine"`
	Session  string     `json:"session" doc:"USER/ID"`
	DryRun   bool       `json:"dry_run,omitempty" doc:"make the prompt and call nobody"`
	Budget   *assay.USD `json:"budget_usd,omitempty" doc:"the call does not leave when it could cost more"`
	Unpriced bool       `json:"allow_unpriced,omitempty" doc:"under a budget: calls whose price is not known leave all the same"`
	By       string     `json:"by,omitempty" doc:"who asks"`
}

// Tried is a prompt, or after a real try its run with verdicts and exchange.
type Tried struct {
	Judge    string          `json:"judge"`
	Version  assay.Hash      `json:"judge_version"`
	Kind     assay.JudgeKind `json:"kind,omitempty"`
	Session  string          `json:"session"`
	Prompt   *Prompt         `json:"prompt,omitempty"`
	Run      *RunView        `json:"run,omitempty"`
	Verdicts []assay.Verdict `json:"verdicts,omitempty"`
	Exchange *Exchange       `json:"exchange,omitempty"`
}

type tryInput struct {
	ProjectInput
	IdempotencyInput
	Body TryRequest
}

type checkInput struct {
	ProjectInput
	Body CheckRequest
}

// CheckRequest names the judge whose provider is checked.
type CheckRequest struct {
	Judge string `json:"judge" doc:"an applied judge that asks a model"`
}

func (s *server) tryRoutes(a huma.API) {
	route(s, a, huma.Operation{OperationID: "try-judge", Method: http.MethodPost, Path: "/projects/{project}/judges/try", Tags: []string{"judges"},
		Summary:     "Ask a judge about one session and show the exchange, or with dry_run only the prompt",
		Description: "A try is a forced run of one session: limits, budgets and sums know of it. It answers when the run has ended. A dry run stores nothing and calls nobody."},
		func(ctx context.Context, in *tryInput) (*answer[Tried], error) { return say(s.try(ctx, in)) })
	route(s, a, huma.Operation{OperationID: "check-provider", Method: http.MethodPost, Path: "/projects/{project}/providers/check", Tags: []string{"judges"},
		Summary:     "Make one cheap call to the provider of an applied or built-in judge and say what works",
		Description: "The judge's key is sent to the judge's own endpoint and nowhere else. The call is not part of a run."},
		func(ctx context.Context, in *checkInput) (*answer[ProviderCheck], error) {
			p, err := s.project(ctx, in.ProjectInput)
			if err != nil {
				return nil, err
			}
			judge, version, err := s.judgeOf(ctx, p, TryRequest{Judge: in.Body.Judge})
			if err != nil {
				return nil, err
			}
			return say(s.Judging.Check(ctx, version, judge.Settings))
		})
}

func (s *server) try(ctx context.Context, in *tryInput) (out Tried, err error) {
	q := in.Body
	p, err := s.project(ctx, in.ProjectInput)
	if err != nil {
		return out, err
	}
	user, id, err := assay.ParseSessionName(q.Session)
	if err != nil {
		return out, err
	}
	if err := checkBudget(q.Budget); err != nil {
		return out, err
	}
	if (q.Judge == "") == (q.Source == "") {
		return out, assay.Errorf(assay.CodeInvalid, "a try needs a judge").WithHint("give either judge, a name, or source, a definition")
	}
	if q.DryRun {
		return s.dryRun(ctx, p, q, user, id)
	}
	if q.Source != "" {
		return out, assay.Errorf(assay.CodeInvalid, "a real try is a run, and a run needs a judge that is applied").WithHint("apply the definition first, or add dry_run")
	}
	run, _, err := s.Engine.Grade(ctx, p, engine.GradeRequest{
		Judges: []string{q.Judge}, Session: q.Session, Force: true, Budget: q.Budget, Unpriced: q.Unpriced, By: q.By,
	}, in.record(ctx, "try"))
	if err != nil {
		return out, err
	}
	if run, err = s.await(ctx, run); err != nil {
		return out, err
	}
	return s.tried(ctx, p, run)
}

func (s *server) dryRun(ctx context.Context, p assay.Project, q TryRequest, user, id string) (out Tried, err error) {
	judge, version, err := s.judgeOf(ctx, p, q)
	if err != nil {
		return out, err
	}
	head, err := s.Store.Sessions().Get(ctx, p.ID, user, id)
	if err != nil {
		return out, err
	}
	session, hash, err := s.sessionOf(ctx, head.Content)
	if err != nil {
		return out, err
	}
	prompt, err := s.Judging.Prompt(version, judge.Settings, PromptQuestion{Session: session, Content: hash})
	if err != nil {
		return out, err
	}
	return Tried{Judge: judge.Name, Version: version.ID, Kind: version.Kind, Session: head.Name(), Prompt: &prompt}, nil
}

// judgeOf finds the judge of a dry run: a definition in the request, an applied one, or a built-in one.
func (s *server) judgeOf(ctx context.Context, p assay.Project, q TryRequest) (assay.Judge, assay.JudgeVersion, error) {
	if q.Source != "" {
		return s.CompileJudge(JudgeSource{Source: q.Source, Folder: q.Folder}, commandsAllowed(ctx))
	}
	judge, version, err := s.Store.Judges().Get(ctx, p.ID, q.Judge)
	if assay.CodeOf(err) == assay.CodeNotFound {
		if j, v, notBuilt := s.Judging.Builtin(q.Judge); notBuilt == nil {
			return j, v, nil
		}
	}
	return judge, version, err
}

func (s *server) sessionOf(ctx context.Context, key assay.ContentKey) (*assay.Session, assay.Hash, error) {
	body, hash, err := s.Store.Bodies().Get(ctx, key)
	if err != nil {
		return nil, "", err
	}
	session, err := store.DecodeBody(body)
	return session, hash, err
}

func (s *server) tried(ctx context.Context, p assay.Project, run assay.Run) (out Tried, err error) {
	v, err := s.view(ctx, run)
	if err != nil {
		return out, err
	}
	judge := run.Spec.Judges[0]
	version, err := s.Store.Judges().Version(ctx, p.ID, judge.Version)
	if err != nil {
		return out, err
	}
	out = Tried{Judge: judge.Name, Version: judge.Version, Kind: version.Kind, Session: run.Spec.Frame.Session, Run: &v}
	if v.Counts.Total == 0 {
		return out, nil // it did not get as far as its item
	}
	if out.Verdicts, _, err = s.Store.Verdicts().List(ctx, store.VerdictQuery{Run: run.ID}, store.Page{Limit: MaxLimit}); err != nil {
		return out, err
	}
	x, err := s.exchange(ctx, run, 1)
	out.Exchange = &x
	return out, err
}
