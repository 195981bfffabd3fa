package llmtest

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
)

// Request is what arrived. Body is parsed only when a script asks for a part of it.
type Request struct {
	N      int64
	Path   string
	Header http.Header
	Body   []byte

	once   sync.Once
	parsed parsed
}

// API names a protocol by its path.
type API string

// Protocols, as definitions write them.
const (
	ChatCompletions API = "chat_completions"
	Responses       API = "responses"
	Messages        API = "messages"
)

// API is the protocol that was spoken, "" for a path that is none.
func (r *Request) API() API {
	switch {
	case strings.HasSuffix(r.Path, "/chat/completions"):
		return ChatCompletions
	case strings.HasSuffix(r.Path, "/responses"):
		return Responses
	case strings.HasSuffix(r.Path, "/messages"):
		return Messages
	}
	return ""
}

// Tool says whether the model is told to call a tool.
func (r *Request) Tool() bool { return bytes.Contains(r.Body, []byte(`"tool_choice":{`)) }

// parsed are the parts of a request of any protocol that scripts ask for.
type parsed struct {
	Model        string    `json:"model"`
	Messages     []message `json:"messages"`
	Input        []message `json:"input"`        // of Responses
	Instructions string    `json:"instructions"` // likewise
	System       content   `json:"system"`       // of Messages
}

type message struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

// content is a text, or a list of parts that have one.
type content string

func (c *content) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		*c = content(text)
		return nil
	}
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &parts); err != nil {
		return err
	}
	for _, p := range parts {
		*c += content(p.Text)
	}
	return nil
}

func (r *Request) parse() *parsed {
	r.once.Do(func() {
		p := &r.parsed
		_ = json.Unmarshal(r.Body, p) // a script for odd bodies reads Body
		p.Messages = append(p.Messages, p.Input...)
		if system := p.Instructions + string(p.System); system != "" {
			p.Messages = append([]message{{Role: "system", Content: content(system)}}, p.Messages...)
		}
	})
	return &r.parsed
}

const tokenMark = `answer_token\": \"`

// Token is the token that the prompt asks the model to copy, "" when there is none. It is the last that
// the body names: a session stands before it and may name others.
func (r *Request) Token() string {
	i := bytes.LastIndex(r.Body, []byte(tokenMark))
	if i < 0 {
		return ""
	}
	rest := r.Body[i+len(tokenMark):]
	end := bytes.IndexByte(rest, '\\')
	if end < 0 {
		return ""
	}
	return string(rest[:end])
}

// Repeated says whether the model is asked again after an unreadable answer.
func (r *Request) Repeated() bool {
	return bytes.Contains(r.Body, []byte("Your answer could not be read"))
}

// Model is the model that was asked for.
func (r *Request) Model() string { return r.parse().Model }

// System is the system message.
func (r *Request) System() string { return r.first("system") }

// Prompt is the first user message.
func (r *Request) Prompt() string { return r.first("user") }

func (r *Request) first(role string) string {
	for _, m := range r.parse().Messages {
		if m.Role == role {
			return string(m.Content)
		}
	}
	return ""
}

// Messages are all messages as "role: content", the system's first.
func (r *Request) Messages() []string {
	var all []string
	for _, m := range r.parse().Messages {
		all = append(all, m.Role+": "+string(m.Content))
	}
	return all
}

// Transcript is the session as the prompt shows it, without its boundary lines.
func (r *Request) Transcript() string {
	_, rest, found := strings.Cut(r.Prompt(), "<<<transcript ")
	if !found {
		return ""
	}
	boundary, rest, _ := strings.Cut(rest, "\n")
	text, _, _ := strings.Cut(rest, "transcript "+boundary+">>>")
	return text
}
