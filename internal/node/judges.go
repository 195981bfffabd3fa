package node

import (
	"encoding/json"
	"net/http"
	"os"

	"go.yaml.in/yaml/v3"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/judge/builtin"
	"assay/internal/judge/kinds"
	"assay/internal/judge/llm"
)

// judges makes judges in this process: with its environment and one pool of connections.
type judges struct{ client *http.Client }

func newJudges() judges { return judges{llm.NewClient()} }

func (j judges) env(folder string) kinds.Env {
	return kinds.Env{LookupEnv: os.LookupEnv, Client: j.client, Folder: folder}
}

func (j judges) build(v assay.JudgeVersion, settings json.RawMessage) (judge.Judge, error) {
	return kinds.Build(v, settings, j.env(""))
}

func (j judges) builtin(name string) (assay.Judge, assay.JudgeVersion, error) {
	return builtin.Get(name, j.env(""))
}

// compile reads a definition. One that runs a command is refused before it is looked at further,
// so that it cannot be used to ask which files this machine holds.
func (j judges) compile(source api.JudgeSource, allowCommand bool) (assay.Judge, assay.JudgeVersion, error) {
	if !allowCommand {
		var head struct {
			Kind    string `yaml:"kind"`
			Command any    `yaml:"command"`
		}
		// What cannot be read here has its errors told by Parse.
		if yaml.Unmarshal([]byte(source.Source), &head) == nil && (head.Kind == string(assay.JudgeCommand) || head.Command != nil) {
			return assay.Judge{}, assay.JudgeVersion{}, assay.Errorf(assay.CodeForbidden, "a judge that runs a command is not taken over the network").
				WithHint("apply it on the server's machine, or start the server with --allow-commands")
		}
	}
	return kinds.Parse([]byte(source.Source), j.env(source.Folder))
}

// TryJudge says whether a judge can be built here and now. It asks it nothing.
func TryJudge(v assay.JudgeVersion, settings json.RawMessage) error {
	j, err := newJudges().build(v, settings)
	if err != nil {
		return err
	}
	return j.Close()
}
