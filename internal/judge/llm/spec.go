package llm

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"

	"assay/internal/assay"
	"assay/internal/definition"
	"assay/internal/judge"
	"assay/internal/judge/llm/provider"
	"assay/internal/session/transcript"
)

// Version names the fixed parts of a prompt, the token, the words of the second question after an
// unreadable answer, and how an answer is told from an echo.
const Version = "prompt/3"

// What happens to a transcript that does not fit.
const (
	longRefuse      = "refuse"        // it is not graded
	longHeadAndTail = "head_and_tail" // the middle is left out, and the text says so
)

// Spec is the kind's part of a definition: all of it can change an answer.
type Spec struct {
	Endpoint         string                     `json:"endpoint"` // logical: its own name, or the base URL
	API              provider.API               `json:"api"`
	Model            string                     `json:"model"` // as asked
	System           string                     `json:"system"`
	Prompt           string                     `json:"prompt"`
	Rubric           string                     `json:"rubric,omitempty"`
	Examples         []Example                  `json:"examples,omitempty"`
	ResponseFormat   string                     `json:"response_format"`
	Schema           json.RawMessage            `json:"schema"` // of an answer; of units: about as many as one call asks about
	Temperature      *float64                   `json:"temperature,omitempty"`
	TopP             *float64                   `json:"top_p,omitempty"`
	Seed             *int64                     `json:"seed,omitempty"`
	MaxTokens        int64                      `json:"max_tokens"`                 // reasoning included
	MaxTokensField   string                     `json:"max_tokens_field,omitempty"` // "" is the provider's own
	Reasoning        string                     `json:"reasoning,omitempty"`
	Extra            map[string]json.RawMessage `json:"extra,omitempty"`
	Transcript       transcript.Options         `json:"transcript"`
	LongTranscripts  string                     `json:"long_transcripts"`
	TranscriptTokens int64                      `json:"transcript_tokens,omitempty"` // of head_and_tail
	CountedBy        string                     `json:"counted_by,omitempty"`        // what counts them: a tokenizer, or guessedTokens
	UnitsPerCall     int                        `json:"units_per_call,omitempty"`    // 0 for judges of sessions
}

// Example is a session and the answer that it should get.
type Example struct {
	Session string          `json:"session"`
	Answer  json.RawMessage `json:"answer"` // an object with a member per criterion
}

// Settings are what cannot change an answer.
type Settings struct {
	provider.Settings
	ContextTokens int64 `json:"context_tokens,omitempty"` // in place of what is known of the model
}

// Bounds and defaults of what a definition may leave out.
const (
	defaultMaxTokens       = 2_000
	defaultReasoningTokens = 16_000
	tokensPerAnswer        = 500 // of one criterion about one unit
	defaultUnitsPerCall    = 10
	maxUnitsPerCall        = 50
)

// Complete fills in defaults and checks s as a whole; settings are complete already. known is the
// model's context in tokens as a catalogue has it, 0 where it has none. The error names the field of
// the YAML.
func (s *Spec) Complete(d judge.Definition, settings Settings, known int64) error {
	s.fill(d, settings)
	formats := []string{provider.FormatSchema, provider.FormatTool, provider.FormatObject, provider.FormatNone}
	switch strategies := []string{longRefuse, longHeadAndTail}; {
	case !slices.Contains(formats, s.ResponseFormat):
		return invalid("response_format", "response_format %.40q is not known%s", s.ResponseFormat, definition.Nearest(s.ResponseFormat, formats)).WithHint("use json_schema, tool, json_object or none")
	case s.UnitsPerCall != 0 && d.Unit == assay.UnitSession:
		return invalid("units_per_call", "units_per_call belongs to judges of turns or tool calls").WithHint("drop it, or set `unit: turn` or `unit: tool_call`")
	case s.UnitsPerCall < 0 || s.UnitsPerCall > maxUnitsPerCall:
		return invalid("units_per_call", "units_per_call %d is out of range", s.UnitsPerCall).WithHint("ask about 1 to %d units in one call", maxUnitsPerCall)
	case s.Temperature != nil && *s.Temperature < 0:
		return invalid("temperature", "temperature %v is negative", *s.Temperature).WithHint("use 0 or more, or leave it out: then none is sent")
	case s.Reasoning != "" && (s.Temperature != nil || s.TopP != nil):
		return invalid("reasoning", "reasoning is given together with temperature or top_p, which reasoning models do not take").WithHint("drop temperature and top_p, or reasoning; of a built-in judge unset ASSAY_JUDGE_TEMPERATURE or ASSAY_JUDGE_REASONING")
	case !slices.Contains(strategies, s.LongTranscripts):
		return invalid("long_transcripts", "long_transcripts %.40q is not known%s", s.LongTranscripts, definition.Nearest(s.LongTranscripts, strategies)).WithHint("use refuse or head_and_tail")
	case s.LongTranscripts == longRefuse && s.TranscriptTokens != 0:
		return invalid("transcript_tokens", "transcript_tokens bounds a transcript that is cut, and long ones are refused").WithHint("write `long_transcripts: head_and_tail`, or drop it")
	case s.LongTranscripts == longHeadAndTail && d.Unit != assay.UnitSession:
		return invalid("long_transcripts", "a judge of turns or tool calls cannot cut a transcript: what it is asked about might be left out").WithHint("use refuse")
	}
	for i, e := range s.Examples {
		if _, err := judge.ReadFindings(e.Answer, d.Criteria); err != nil {
			return invalid("examples", "the answer of example %d is not one that this judge can give: %v", i+1, err).WithHint("write it as the judge would: one member per criterion with a value")
		}
	}
	if err := checkTemplates(*s); err != nil {
		return err
	}
	if err := s.checkParams(settings); err != nil {
		return err
	}
	return s.boundTranscript(d, settings, known)
}

func (s *Spec) fill(d judge.Definition, settings Settings) {
	s.API = settings.API
	if s.Endpoint == "" {
		s.Endpoint = settings.BaseURL
	}
	if s.System == "" {
		s.System = defaultSystem
		if d.Unit != assay.UnitSession {
			s.System = defaultSystemOfUnits
		}
	}
	if s.Prompt == "" {
		s.Prompt = defaultPrompt
	}
	if profile, ok := provider.ProfileOf(settings.Provider); ok && s.ResponseFormat == "" {
		s.ResponseFormat = profile.Format
	}
	if s.UnitsPerCall == 0 && d.Unit != assay.UnitSession {
		s.UnitsPerCall = defaultUnitsPerCall
	}
	if s.MaxTokens == 0 {
		s.MaxTokens = max(defaultMaxTokens, int64(s.UnitsPerCall*len(d.Criteria))*tokensPerAnswer)
		if s.Reasoning != "" {
			s.MaxTokens += defaultReasoningTokens - defaultMaxTokens
		}
	}
	if s.LongTranscripts == "" {
		s.LongTranscripts = longRefuse
	}
	s.Transcript = options(d.Fields)
	s.Schema = answerForm{d.Criteria, s.UnitsPerCall}.schema()
}

// params are what is asked of the model beside the texts, for an answer of the given form.
func (s *Spec) params(schema json.RawMessage) provider.Params {
	return provider.Params{
		Model: s.Model, Format: s.ResponseFormat, Schema: schema, Temperature: s.Temperature, TopP: s.TopP, Seed: s.Seed,
		MaxTokens: s.MaxTokens, MaxTokensField: s.MaxTokensField, Reasoning: s.Reasoning, Extra: s.Extra,
	}
}

// checkParams lets the provider's own package say what cannot be asked.
func (s *Spec) checkParams(settings Settings) error {
	here := settings.Settings
	here.CAFile = "" // no look at files yet
	_, err := provider.New(here, s.params(s.Schema), "", nil, provider.Env{Transport: http.DefaultTransport})
	return err
}

// DetailField names the detail of an error that says which field of the llm block is wrong.
const DetailField = provider.DetailField

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

// dated meets model names that promise not to change: gpt-4o-2024-08-06, claude-sonnet-4-20250514,
// gemini@20250101, a digest, a finished fine-tune or a file of weights.
var dated = regexp.MustCompile(`(?i)([-_.@:]20\d{2}-?(0[1-9]|1[0-2])-?(0[1-9]|[12]\d|3[01])($|[-_.@:/])|@sha256:[0-9a-f]{8,}|\.gguf$)`)

// Alias says whether a model name carries no date, so that its provider may change what it means.
func Alias(model string) bool { return !dated.MatchString(model) }
