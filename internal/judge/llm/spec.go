package llm

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/session/transcript"
)

// Version names the fixed parts of a prompt: the answer's instructions, the token and the words of
// the second question after an unreadable answer.
const Version = "prompt/1"

// LongTranscripts is the one strategy for a transcript that does not fit: it is not graded, never cut.
const LongTranscripts = "refuse"

// Spec is the kind's part of a definition: all of it can change an answer.
type Spec struct {
	Endpoint        string                     `json:"endpoint"` // logical: its own name, or the base URL
	Model           string                     `json:"model"`    // as asked
	System          string                     `json:"system"`
	Prompt          string                     `json:"prompt"`
	Rubric          string                     `json:"rubric,omitempty"`
	Examples        []Example                  `json:"examples,omitempty"`
	ResponseFormat  string                     `json:"response_format"`
	Schema          json.RawMessage            `json:"schema"`
	Temperature     *float64                   `json:"temperature,omitempty"`
	TopP            *float64                   `json:"top_p,omitempty"`
	Seed            *int64                     `json:"seed,omitempty"`
	MaxTokens       *int64                     `json:"max_tokens,omitempty"`
	MaxCompletion   *int64                     `json:"max_completion_tokens,omitempty"`
	Extra           map[string]json.RawMessage `json:"extra,omitempty"`
	Transcript      transcript.Options         `json:"transcript"`
	LongTranscripts string                     `json:"long_transcripts"`
}

// Example is a session and the answer that it should get.
type Example struct {
	Session string          `json:"session"`
	Answer  json.RawMessage `json:"answer"` // an object with a member per criterion
}

// Settings are what cannot change an answer.
type Settings struct {
	BaseURL       string        `json:"base_url"`
	KeyEnv        string        `json:"api_key_env,omitempty"` // the name of a variable, never a key
	Timeout       time.Duration `json:"timeout,omitempty"`
	ContextTokens int64         `json:"context_tokens,omitempty"`
}

// DefaultTimeout bounds one call.
const DefaultTimeout = 2 * time.Minute

// Response formats, from the strictest.
const (
	FormatSchema = "json_schema"
	FormatObject = "json_object"
	FormatNone   = "none"
)

// ownParameters are set by this package; Extra cannot reach around it.
var ownParameters = []string{"model", "messages", "response_format", "temperature", "top_p", "seed", "max_tokens", "max_completion_tokens", "stream", "stream_options", "n", "tools", "tool_choice", "functions", "function_call"}

// Complete fills in defaults and checks s as a whole. The error names the field of the YAML.
func (s *Spec) Complete(d judge.Definition) error {
	if s.System == "" {
		s.System = defaultSystem
	}
	if s.Prompt == "" {
		s.Prompt = defaultPrompt
	}
	if s.ResponseFormat == "" {
		s.ResponseFormat = FormatSchema
	}
	s.LongTranscripts = LongTranscripts
	s.Transcript = options(d.Fields)
	s.Schema = schema(d.Criteria)
	switch formats := []string{FormatSchema, FormatObject, FormatNone}; {
	case strings.TrimSpace(s.Model) == "":
		return invalid("model", "no model is given").WithHint("name the model as the endpoint knows it, with a date where it has one")
	case !slices.Contains(formats, s.ResponseFormat):
		return invalid("response_format", "response_format %q is not known%s", s.ResponseFormat, judge.Nearest(s.ResponseFormat, formats)).WithHint("use json_schema, json_object or none")
	case s.MaxTokens != nil && s.MaxCompletion != nil:
		return invalid("max_tokens", "max_tokens and max_completion_tokens are both given").WithHint("keep the one that the endpoint knows")
	case s.MaxTokens != nil && *s.MaxTokens < 1 || s.MaxCompletion != nil && *s.MaxCompletion < 1:
		return invalid("max_tokens", "the token limit is less than 1").WithHint("give at least a few hundred tokens: a cut answer is no verdict")
	case s.Temperature != nil && *s.Temperature < 0:
		return invalid("temperature", "temperature %v is negative", *s.Temperature).WithHint("use 0 or more, or leave it out: then none is sent")
	}
	for name := range s.Extra {
		if slices.Contains(ownParameters, name) {
			return invalid("extra", "extra parameter %q is set by the judge itself", name).WithHint("use the field of that name, or drop it")
		}
	}
	for i, e := range s.Examples {
		if _, err := judge.ReadFindings(e.Answer, d.Criteria); err != nil {
			return invalid("examples", "the answer of example %d is not one that this judge can give: %v", i+1, err).WithHint("write it as the judge would: one member per criterion with a value")
		}
	}
	return checkTemplates(*s)
}

// DetailField names the detail of an error that says which field of the llm block is wrong.
const DetailField = "field"

func invalid(field, format string, args ...any) *assay.Error {
	return assay.Errorf(assay.CodeInvalid, format, args...).With(DetailField, field)
}

func options(fields []string) transcript.Options {
	return transcript.Options{
		Metadata:     judge.MetadataKeys(fields),
		AgentVersion: slices.Contains(fields, judge.FieldAgentVersion),
		User:         slices.Contains(fields, judge.FieldUserID),
		Source:       slices.Contains(fields, judge.FieldSource),
		Times:        slices.Contains(fields, judge.FieldTimes),
		Reasoning:    slices.Contains(fields, judge.FieldReasoning),
	}
}

// LogicalEndpoint is a base URL in its plainest spelling, so that a trailing slash or a default port
// makes no new version.
func LogicalEndpoint(base string) (string, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", invalid("base_url", "base_url %q is not an http or https URL", base).WithHint("for instance https://api.openai.com/v1 or http://localhost:8000/v1")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", invalid("base_url", "base_url holds a user, a query or a fragment").WithHint("give the address alone; a key goes into the variable that api_key_env names")
	}
	host := strings.ToLower(u.Host)
	host = strings.TrimSuffix(host, map[string]string{"http": ":80", "https": ":443"}[u.Scheme])
	return u.Scheme + "://" + host + strings.TrimRight(u.EscapedPath(), "/"), nil
}

// dated meets model names that promise not to change: gpt-4o-2024-08-06, claude-sonnet-4-20250514,
// gemini@20250101, a digest, a finished fine-tune or a file of weights.
var dated = regexp.MustCompile(`(?i)([-_.@:]20\d{2}-?(0[1-9]|1[0-2])-?(0[1-9]|[12]\d|3[01])($|[-_.@:/])|@sha256:[0-9a-f]{8,}|\.gguf$)`)

// Alias says whether a model name carries no date, so that its provider may change what it means.
func Alias(model string) bool { return !dated.MatchString(model) }
