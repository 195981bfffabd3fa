package provider

import (
	"encoding/json"
	"net/http"
	"time"
)

// API names a protocol.
type API string

// Protocols, as definitions write them.
const (
	ChatCompletions API = "chat_completions"
	Responses       API = "responses"
	Messages        API = "messages"
)

// Settings say how a provider is reached; they cannot change an answer. JSON is stored with a judge.
type Settings struct {
	Provider   string            `json:"provider,omitempty"` // the name of a Profile; "" is that of the address, or any compatible server
	API        API               `json:"api"`
	BaseURL    string            `json:"base_url"`                  // in its plainest spelling, see LogicalEndpoint
	Query      map[string]string `json:"query,omitempty"`           // for instance Azure's api-version
	KeyEnv     string            `json:"api_key_env,omitempty"`     // the name of a variable; at most one of the three is given
	KeyFile    string            `json:"api_key_file,omitempty"`    // holds nothing but the key
	KeyCommand []string          `json:"api_key_command,omitempty"` // argv, no shell; the first line of its stdout is the key
	CAFile     string            `json:"ca_file,omitempty"`         // PEM, trusted beside the system's
	Timeout    time.Duration     `json:"timeout,omitempty"`
}

// defaultTimeout bounds one call.
const defaultTimeout = 2 * time.Minute

// Params are what is asked of the model beside the texts; all of it can change an answer.
type Params struct {
	Model          string
	Format         string          // one of the formats; "" is the profile's
	Schema         json.RawMessage // of the answer; its properties keep their order
	Temperature    *float64
	TopP           *float64
	Seed           *int64
	MaxTokens      int64  // the one limit of the output, reasoning included; more than 0
	MaxTokensField string // "" is the profile's
	Reasoning      string // "" is a model that does not reason; else its effort, or for messages a number of tokens
	Extra          map[string]json.RawMessage
}

// Formats, from the strictest.
const (
	FormatSchema = "json_schema" // the protocol's structured output
	FormatTool   = "tool"        // a tool that the model must call; its input is the answer
	FormatObject = "json_object"
	FormatNone   = "none"
)

// Part of the user message: fixed text, or with Place > 0 the place of values[Place-1].
type Part struct {
	Text  string
	Place int
}

// Again is an answer that could not be read, shown to the model, and what it is told about it.
type Again struct{ Answer, Why string }

// Env is what this process gives.
type Env struct {
	LookupEnv func(string) (string, bool)
	Transport http.RoundTripper // shared by all clients, best a *Transport; nil makes one
	Keys      *Keys             // shared by clients of the same settings; nil makes them
}

// Unread begins the error of an answer that came but could not be read.
const Unread = "the answer could not be read: "

// DetailField names the detail of an error that says which field of the settings is wrong.
const DetailField = "field"
