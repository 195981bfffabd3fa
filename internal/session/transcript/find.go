package transcript

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"assay/internal/assay"
)

// Text is the text of a message that evidence points into: its content, then a line for each tool
// call with its name and arguments. Offsets into the content are offsets into this.
func Text(m *assay.Message) string {
	if len(m.ToolCalls) == 0 {
		return m.Content
	}
	var b strings.Builder
	b.WriteString(m.Content)
	for i := range m.ToolCalls {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(m.ToolCalls[i].Name + " " + m.ToolCalls[i].Arguments)
	}
	return b.String()
}

// Find looks for a quote: in the message that the judge named, exactly, then with every run of white
// space taken for one space; then likewise in all messages in order. It returns where the quote was
// found, with offsets into Text of that message; or, not Verified, the place as the judge named it.
func Find(s *assay.Session, turn, message int, quote string) assay.Evidence {
	e := assay.Evidence{Turn: turn, Message: message, Quote: quote}
	if strings.TrimSpace(quote) == "" {
		return e
	}
	loose, _ := squeeze(strings.TrimSpace(quote))
	searches := []func(text string) (start, end int){
		func(text string) (int, int) { return exact(text, quote) },
		func(text string) (int, int) { return spaced(text, loose) },
	}
	look := func(i, j int, search func(string) (int, int)) bool {
		start, end := search(Text(&s.Turns[i].Messages[j]))
		if start >= 0 {
			e.Turn, e.Message, e.Start, e.End, e.Verified = i, j, start, end, true
		}
		return e.Verified
	}
	if turn >= 0 && turn < len(s.Turns) && message >= 0 && message < len(s.Turns[turn].Messages) {
		for _, search := range searches {
			if look(turn, message, search) {
				return e
			}
		}
	}
	for _, search := range searches {
		for i := range s.Turns {
			for j := range s.Turns[i].Messages {
				if look(i, j, search) {
					return e
				}
			}
		}
	}
	return e
}

func exact(text, quote string) (start, end int) {
	start = strings.Index(text, quote)
	return start, start + len(quote)
}

// spaced finds a squeezed quote in text and gives the offsets in text itself.
func spaced(text, loose string) (start, end int) {
	squeezed, at := squeeze(text)
	i := strings.Index(squeezed, loose)
	if i < 0 {
		return -1, -1
	}
	return at[i], at[i+len(loose)-1] + 1
}

// squeeze makes one space of every run of white space. at[i] is where byte i of the result comes
// from; for a run, its first byte.
func squeeze(text string) (squeezed string, at []int) {
	b := make([]byte, 0, len(text))
	at = make([]int, 0, len(text))
	for i, n := 0, 0; i < len(text); i += n {
		var r rune
		if r, n = utf8.DecodeRuneInString(text[i:]); !unicode.IsSpace(r) {
			for k := i; k < i+n; k++ {
				b, at = append(b, text[k]), append(at, k)
			}
		} else if len(b) == 0 || b[len(b)-1] != ' ' {
			b, at = append(b, ' '), append(at, i)
		}
	}
	return string(b), at
}
