package transcript

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"assay/internal/assay"
)

// Said is what was said in a session, in its turns and messages: the texts that evidence points into.
// It holds nothing else of the session, so that whoever waits for an answer keeps no image, no
// metadata and no reasoning.
type Said [][]said

type said struct {
	content string
	calls   []assay.ToolCall
}

// text is that of a message that evidence points into: its content, then a line for each tool call with
// its name and arguments. Offsets into the content are offsets into this.
func (m said) text() string {
	if len(m.calls) == 0 {
		return m.content
	}
	var b strings.Builder
	b.WriteString(m.content)
	for i := range m.calls {
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(m.calls[i].Name + " " + m.calls[i].Arguments)
	}
	return b.String()
}

// SaidIn takes what was said out of s; the texts are shared.
func SaidIn(s *assay.Session) Said {
	turns := make(Said, len(s.Turns))
	for i := range s.Turns {
		turns[i] = make([]said, len(s.Turns[i].Messages))
		for j := range turns[i] {
			m := &s.Turns[i].Messages[j]
			turns[i][j] = said{m.Content, m.ToolCalls}
		}
	}
	return turns
}

// Find looks for a quote: in the message that the judge named, exactly, then with every run of white
// space taken for one space; then likewise in all messages in order. It returns where the quote was
// found, with offsets into the text of that message; or, not Verified, the place as the judge named it.
func (turns Said) Find(turn, message int, quote string) assay.Evidence {
	e := assay.Evidence{Turn: turn, Message: message, Quote: quote}
	if strings.TrimSpace(quote) == "" {
		return e
	}
	loose, _ := squeeze(strings.TrimSpace(quote))
	longest := ""
	for word := range strings.FieldsSeq(quote) {
		if len(word) > len(longest) {
			longest = word
		}
	}
	searches := []func(text string) (start, end int){
		func(text string) (int, int) { return exact(text, quote) },
		func(text string) (int, int) {
			if !strings.Contains(text, longest) { // squeezing a long text costs much more than this look
				return -1, -1
			}
			return spaced(text, loose)
		},
	}
	look := func(i, j int, search func(string) (int, int)) bool {
		start, end := search(turns[i][j].text())
		if start >= 0 {
			e.Turn, e.Message, e.Start, e.End, e.Verified = i, j, start, end, true
		}
		return e.Verified
	}
	if turn >= 0 && turn < len(turns) && message >= 0 && message < len(turns[turn]) {
		for _, search := range searches {
			if look(turn, message, search) {
				return e
			}
		}
	}
	for _, search := range searches {
		for i := range turns {
			for j := range turns[i] {
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
