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

type parsed struct {
	Model    string `json:"model"`
	Messages []struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"messages"`
}

func (r *Request) parse() *parsed {
	r.once.Do(func() { _ = json.Unmarshal(r.Body, &r.parsed) }) // a script for odd bodies reads Body
	return &r.parsed
}

const tokenMark = `answer_token\": \"`

// Token is the token that the prompt asks the model to copy, "" when there is none.
func (r *Request) Token() string {
	i := bytes.Index(r.Body, []byte(tokenMark))
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
			return m.Content
		}
	}
	return ""
}

// Messages are all messages as "role: content".
func (r *Request) Messages() []string {
	var all []string
	for _, m := range r.parse().Messages {
		all = append(all, m.Role+": "+m.Content)
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
