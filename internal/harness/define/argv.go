package define

import (
	"encoding/json"
	"slices"
	"strings"

	"assay/internal/assay"
)

// Argv is the command line of a run: the definition's command, then the flags of the values in the
// definition's order. A value is never more than one argument. One that begins with a dash is joined to
// a long option with = ("--note=-x"), because some programs would take it for an option of its own.
func Argv(def assay.SuiteDefinition, values []assay.ParamValue) []string {
	argv := slices.Clone(def.Command)
	for _, p := range def.Params {
		text, ok := valueOf(p.Name, values)
		switch {
		case !ok:
		case p.Type == assay.ParamBool && text == "true":
			argv = append(argv, nonEmpty(p.Flag)...)
		case p.Type == assay.ParamBool:
			argv = append(argv, nonEmpty(p.FlagFalse)...)
		case p.Flag == "":
		case strings.HasSuffix(p.Flag, "="):
			argv = append(argv, p.Flag+text)
		case strings.HasPrefix(p.Flag, "--") && strings.HasPrefix(text, "-"):
			argv = append(argv, p.Flag+"="+text)
		default:
			argv = append(argv, p.Flag, text)
		}
	}
	return argv
}

func nonEmpty(flag string) []string {
	if flag == "" {
		return nil
	}
	return []string{flag}
}

// valueOf is a value as a harness gets it. An empty one is none.
func valueOf(name string, values []assay.ParamValue) (text string, ok bool) {
	for _, v := range values {
		if v.Name != name {
			continue
		}
		if len(v.Value) == 0 || v.Value[0] != '"' {
			return string(v.Value), len(v.Value) > 0
		}
		if json.Unmarshal(v.Value, &text) != nil {
			return "", false
		}
		return text, text != ""
	}
	return "", false
}
