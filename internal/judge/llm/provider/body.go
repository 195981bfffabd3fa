package provider

import (
	"encoding/json"
	"strings"
)

// body is a request with its fixed parts encoded: head, the user message in pieces, tail. What is the
// same for all questions is escaped once, because encoding the schema and the fixed texts for each
// question costs more than everything else in a call.
type body struct {
	pieces []piece
	tail   string
	size   int // bytes without values
}

// piece is JSON as it is, or with place > 0 the place of a value.
type piece struct {
	text  string
	place int
}

// messagesOf opens a request in each protocol. The system's text is among the parameters of the two
// newer ones.
var messagesOf = map[API]string{ChatCompletions: `{"messages":[`, Responses: `{"input":[`, Messages: `{"messages":[`}

func newBody(api API, system string, user []Part, parameters json.RawMessage) body {
	var b body
	b.raw(messagesOf[api])
	if api == ChatCompletions && system != "" {
		b.raw(`{"role":"system","content":` + string(appendText(nil, system)) + `},`)
	}
	b.raw(`{"role":"user","content":"`)
	for _, part := range user {
		if part.Place > 0 {
			b.pieces = append(b.pieces, piece{place: part.Place})
			continue
		}
		b.raw(string(appendEscaped(nil, part.Text)))
	}
	b.raw(`"}`)
	b.tail = "]," + string(parameters[1:])
	for _, p := range b.pieces {
		b.size += len(p.text)
	}
	b.size += len(b.tail)
	return b
}

func (b *body) raw(text string) {
	if n := len(b.pieces); n > 0 && b.pieces[n-1].place == 0 {
		b.pieces[n-1].text += text
		return
	}
	b.pieces = append(b.pieces, piece{text: text})
}

// maxShown bounds how much of an unreadable answer the model is shown again.
const maxShown = 8 << 10

func (b *body) fill(values []string, again *Again) []byte {
	size := b.size
	for _, v := range values {
		size += len(v) + len(v)/5
	}
	out := make([]byte, 0, size+64)
	for _, p := range b.pieces {
		switch {
		case p.place == 0:
			out = append(out, p.text...)
		case p.place <= len(values):
			out = appendEscaped(out, values[p.place-1])
		}
	}
	if again != nil {
		if shown := strings.ToValidUTF8(again.Answer[:min(len(again.Answer), maxShown)], ""); strings.TrimSpace(shown) != "" {
			out = appendMessage(out, "assistant", shown)
		}
		out = appendMessage(out, "user", again.Why)
	}
	return append(out, b.tail...)
}

func appendMessage(b []byte, role, content string) []byte {
	b = append(b, `,{"role":"`...)
	b = append(b, role...)
	b = append(b, `","content":`...)
	return append(appendText(b, content), '}')
}
