package llm

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"assay/internal/assay"
	"assay/internal/judge"
)

// parameters writes everything of a request but its messages, in the SDK's words, as the members of
// a JSON object. It is done once: encoding the schema and the fixed texts for each question costs
// more than everything else in a call.
func parameters(s Spec) (json.RawMessage, error) {
	p := openai.ChatCompletionNewParams{Model: shared.ChatModel(s.Model)}
	if s.Temperature != nil {
		p.Temperature = param.NewOpt(*s.Temperature)
	}
	if s.TopP != nil {
		p.TopP = param.NewOpt(*s.TopP)
	}
	if s.Seed != nil {
		p.Seed = param.NewOpt(*s.Seed)
	}
	if s.MaxTokens != nil {
		p.MaxTokens = param.NewOpt(*s.MaxTokens)
	}
	if s.MaxCompletion != nil {
		p.MaxCompletionTokens = param.NewOpt(*s.MaxCompletion)
	}
	switch s.ResponseFormat {
	case FormatSchema:
		p.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
			Name: "verdict", Strict: param.NewOpt(true), Schema: s.Schema}}
	case FormatObject:
		p.ResponseFormat.OfJSONObject = &shared.ResponseFormatJSONObjectParam{}
	}
	if len(s.Extra) > 0 {
		extra := make(map[string]any, len(s.Extra))
		for name, raw := range s.Extra {
			extra[name] = raw
		}
		p.SetExtraFields(extra)
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, assay.Errorf(assay.CodeInvalid, "write the request's parameters: %w", err).WithHint("look at `extra`")
	}
	return raw, nil
}

// requestBody is the whole request for one question: {"messages": […], parameters}.
func (j *Judge) requestBody(q question, unreadable *judge.Reply) []byte {
	b := make([]byte, 0, j.size+len(q.transcript)+len(q.transcript)/8)
	b = append(b, `{"messages":[`...)
	b = j.prompt.messages(b, q)
	if unreadable != nil {
		if raw := strings.ToValidUTF8(unreadable.Raw[:min(len(unreadable.Raw), maxShown)], ""); raw != "" {
			b = appendMessage(b, "assistant", raw)
		}
		b = appendMessage(b, "user", again(q.token, strings.TrimPrefix(unreadable.Error, unread)))
	}
	b = append(b, "],"...)
	return append(b, j.params[1:]...)
}

// maxShown bounds how much of an unreadable answer the model is shown again.
const maxShown = 8 << 10

func appendMessage(b []byte, role, content string) []byte {
	b = append(b, `,{"role":"`...)
	b = append(b, role...)
	b = append(b, `","content":`...)
	return append(appendText(b, content), '}')
}

// appendText writes s as a JSON string.
func appendText(b []byte, s string) []byte {
	return append(appendEscaped(append(b, '"'), s), '"')
}

// appendEscaped writes what stands between a JSON string's quotes. What is not UTF-8 becomes the
// replacement character.
func appendEscaped(b []byte, s string) []byte {
	const hex = "0123456789abcdef"
	from := 0
	for i := 0; i < len(s); {
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && size == 1 {
				b = append(append(b, s[from:i]...), "\ufffd"...)
				from = i + size
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' && c != 0x7f {
			i++
			continue
		}
		b = append(b, s[from:i]...)
		switch c {
		case '"', '\\':
			b = append(b, '\\', c)
		case '\n':
			b = append(b, '\\', 'n')
		case '\t':
			b = append(b, '\\', 't')
		case '\r':
			b = append(b, '\\', 'r')
		default:
			b = append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		from = i
	}
	return append(b, s[from:]...)
}
