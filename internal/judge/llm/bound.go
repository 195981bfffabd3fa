package llm

import (
	"cmp"
	"fmt"
	"math/bits"

	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/judge/tokens"
	"assay/internal/session/transcript"
)

// guessedTokens names the counting by length that stands in for a tokenizer that is not known.
const guessedTokens = "guess/1"

// margin is what a provider may count beside the texts: its chat template, the words around a schema or
// a tool.
const margin = 1024

// counter counts tokens of a text in a way that has a name.
type counter struct {
	name  string
	count func(string) int64
	exact bool // by the model's own tokenizer
}

func guessed() counter { return counter{name: guessedTokens, count: tokens.Guess} }

func counterOf(model string) counter {
	if c, ok := tokens.For(model); ok {
		return counter{c.Name(), c.Count, true}
	}
	return guessed()
}

// counterNamed is what cut transcripts when the version was made. Another tokenizer would cut at other
// places, which is another judge.
func counterNamed(name, model string) (counter, error) {
	if name == guessedTokens || name == "" {
		return guessed(), nil
	}
	if c := counterOf(model); c.name == name {
		return c, nil
	}
	return counter{}, assay.Errorf(assay.CodeInvalid, "the judge's transcripts are cut by the tokenizer %s, which this program does not use for %s", name, model).
		WithHint("apply the judge again with `assay judge apply`: that makes a new version, and old verdicts stay")
}

// boundTranscript settles how long a transcript may be that is cut, and what counts it.
func (s *Spec) boundTranscript(d judge.Definition, settings Settings, known int64) error {
	if s.LongTranscripts != longHeadAndTail {
		return nil
	}
	c := counterOf(s.Model)
	s.CountedBy = c.name
	if s.TranscriptTokens == 0 {
		context := cmp.Or(settings.ContextTokens, known)
		if context == 0 {
			return invalid("long_transcripts", "nothing says how long a transcript may be: the context of %s is not known", s.Model).
				WithHint("give transcript_tokens, or context_tokens")
		}
		p, err := newPrompt(*s, "", answerForm{d.Criteria, s.UnitsPerCall})
		if err != nil {
			return err
		}
		s.TranscriptTokens = context - s.MaxTokens - c.count(p.fixed()) - margin
		if !c.exact {
			s.TranscriptTokens -= s.TranscriptTokens / 4 // a guess can be too low
		}
	}
	if s.TranscriptTokens < transcript.MinBound {
		return invalid("transcript_tokens", "a transcript may have %d tokens, which is too few to show the beginning and the end of a session", s.TranscriptTokens).
			WithHint("give transcript_tokens of %d or more, lower max_tokens, or use a model with a longer context", transcript.MinBound)
	}
	return nil
}

// load weighs a call with the given texts in its places and an unreadable answer that is shown again.
// Nothing of it reads the texts with a tokenizer, or like one, before Count is called.
func (j *Judge) load(c *compiled, body []byte, values []string, again string) judge.Load {
	l := judge.Load{InputMost: int64(len(body)) + margin, OutputMost: j.spec.MaxTokens, Input: c.guess + byLength(again)}
	for _, v := range values {
		l.Input += byLength(v)
	}
	l.Count = func() (input, most int64, counted bool) {
		input = c.counted() + j.counter.count(again)
		for _, v := range values {
			input += j.counter.count(v)
		}
		if !j.counter.exact {
			return input, l.InputMost, false
		}
		return input, min(l.InputMost, input+margin), true
	}
	return l
}

// byLength guesses tokens in one quick look: four bytes of ASCII or two other characters make one.
func byLength(text string) int64 {
	const high = 0x8080808080808080
	all, notASCII, other := len(text), 0, 0 // other are the first bytes of characters that are not ASCII
	for ; len(text) >= 8; text = text[8:] {
		// The compiler makes one load of it.
		w := uint64(text[0]) | uint64(text[1])<<8 | uint64(text[2])<<16 | uint64(text[3])<<24 | uint64(text[4])<<32 | uint64(text[5])<<40 | uint64(text[6])<<48 | uint64(text[7])<<56
		if w&high != 0 {
			notASCII += bits.OnesCount64(w & high)
			other += bits.OnesCount64(w & (w << 1) & high)
		}
	}
	for i := range len(text) {
		if c := text[i]; c >= 0x80 {
			notASCII++
			other += int(c >> 6 & 1)
		}
	}
	return int64((all-notASCII)/4 + other/2)
}

// tooLong says why a call cannot fit into the model's context, "" when it may: by its bytes first, which
// cost nothing to count.
func (j *Judge) tooLong(l judge.Load) string {
	if j.context <= 0 || l.InputMost+l.OutputMost <= j.context {
		return ""
	}
	input, _, counted := l.Count()
	if input+l.OutputMost <= j.context {
		return ""
	}
	how := "estimated from its length"
	if counted {
		how = "counted with " + j.counter.name
	}
	return fmt.Sprintf("the prompt has about %d tokens (%s) and the answer may have %d, more than the model's context of %d; nothing was sent", input, how, l.OutputMost, j.context)
}
