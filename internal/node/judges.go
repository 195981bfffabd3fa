package node

import (
	"encoding/json"
	"os"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/judge/builtin"
	"assay/internal/judge/kinds"
	"assay/internal/judge/llm/provider"
	"assay/internal/price"
)

// judges makes judges in this process: with its environment, what it knows of models, and one pool of
// connections.
type judges struct {
	transport *provider.Transport
	book      *price.Book
}

func newJudges(book *price.Book) judges { return judges{provider.NewTransport(), book} }

func (j judges) env(folder string) kinds.Env {
	return kinds.Env{LookupEnv: os.LookupEnv, Transport: j.transport, ContextTokens: j.contextTokens, Folder: folder}
}

func (j judges) contextTokens(provider string, key assay.ModelKey) int64 {
	return j.book.Facts(provider, key).ContextTokens
}

func (j judges) build(v assay.JudgeVersion, settings json.RawMessage) (judge.Judge, error) {
	return kinds.Build(v, settings, j.env(""))
}

func (j judges) builtin(name string) (assay.Judge, assay.JudgeVersion, error) {
	return builtin.Get(name, j.env(""))
}

// compile reads a definition. One that reaches files or programs of this machine is refused before it
// is looked at further, so that it cannot be used to ask which files there are.
func (j judges) compile(source api.JudgeSource, allowReach bool) (assay.Judge, assay.JudgeVersion, error) {
	if what, reaches := kinds.Reaches([]byte(source.Source)); reaches && !allowReach {
		return assay.Judge{}, assay.JudgeVersion{}, assay.Errorf(assay.CodeForbidden, "a judge with %s is not taken over the network", what).
			WithHint("apply it on the server's machine, or start the server with --allow-commands")
	}
	return kinds.Parse([]byte(source.Source), j.env(source.Folder))
}

// TryJudge says whether a judge can be built here and now. It asks it nothing.
func TryJudge(v assay.JudgeVersion, settings json.RawMessage) error {
	j, err := newJudges(price.NewBook()).build(v, settings)
	if err != nil {
		return err
	}
	return j.Close()
}
