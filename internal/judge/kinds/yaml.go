package kinds

import (
	"go.yaml.in/yaml/v3"

	"assay/internal/definition"
)

var form = definition.Form{Begin: "begin with name, kind and criteria", Files: "keep one judge per file"}

// elsewhere are names that people look for in a judge and that live somewhere else.
var elsewhere = map[string]string{
	"concurrency": "it belongs to a run: `assay grade --concurrency N`",
	"retries":     "retries belong to the engine and its classes of errors",
	"api_key":     "a key is never stored: put it into an environment variable and name that with api_key_env",
	"shell":       "commands are run without a shell: give argv as a list",
	"arm":         "a judge never sees the arm",
	"version":     "a version is the hash of the definition; it is computed",
}

func mapping(n *yaml.Node, what string, f definition.Fields) error {
	return definition.Mapping(n, what, f, elsewhere)
}
