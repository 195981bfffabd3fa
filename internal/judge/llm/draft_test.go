package llm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/judge/llm/llmtest"
	"assay/internal/judge/llm/provider"
	"assay/internal/judge/tokens"
)

var _ judge.Metered = (*Judge)(nil)

func TestADraftSaysWhatItWeighsAndShows(t *testing.T) {
	var got *llmtest.Request
	server := llmtest.New(t, func(r *llmtest.Request) llmtest.Step { got = r; return llmtest.Verdict(yes) })
	j := newJudge(t, server.BaseURL, func(s *Spec, _ *Settings, _ *judge.Definition) { s.Model = "gpt-4o-2024-08-06" })
	if key := j.Model(); key.Endpoint != server.BaseURL || key.Model != "gpt-4o-2024-08-06" || j.Provider() != "compatible" {
		t.Errorf("%+v %s", key, j.Provider())
	}
	d := j.Draft(judge.Question{Session: session("please")})
	if d.Ended != nil || server.Count() != 0 {
		t.Fatalf("%+v, %d calls", d.Ended, server.Count())
	}
	sum := sha256.Sum256([]byte(d.Seen.Text))
	if string(d.Seen.Hash) != hex.EncodeToString(sum[:]) || d.Seen.Cut || !strings.Contains(d.Seen.Text, "  please\n") || !strings.HasPrefix(d.Seen.Text, "<<<transcript ") {
		t.Errorf("%+v", d.Seen)
	}
	input, most, counted := d.Load.Count()
	if !counted || input <= 0 || most > d.Load.InputMost || most != input+margin || d.Load.OutputMost != 2000 || d.Load.Input <= 0 {
		t.Errorf("%+v: counted %d, at most %d, %v", d.Load, input, most, counted)
	}
	if r := d.Send(t.Context()); r.Class != "" || len(r.Answers) != 1 || !strings.Contains(got.Prompt(), d.Seen.Text) {
		t.Errorf("%+v", r)
	}
	if int64(len(got.Body))+margin != d.Load.InputMost {
		t.Errorf("the body has %d bytes, at most %d tokens", len(got.Body), d.Load.InputMost)
	}
}

// Whatever a session holds, no tokenizer that works on bytes counts more than InputMost.
func TestInputMostIsNeverLessThanWhatIsCounted(t *testing.T) {
	counter, ok := tokens.For("gpt-4o-2024-08-06")
	if !ok {
		t.Fatal("no tokenizer is known for gpt-4o")
	}
	var request *llmtest.Request
	server := llmtest.New(t, func(r *llmtest.Request) llmtest.Step { request = r; return llmtest.Garbage() })
	judges := map[string]*Judge{}
	for form, change := range forms {
		judges[form] = newJudge(t, server.BaseURL, change, func(s *Spec, _ *Settings, _ *judge.Definition) { s.Model = "gpt-4o-2024-08-06" })
	}
	rapid.Check(t, func(rt *rapid.T) {
		j := judges[rapid.SampledFrom([]string{"json_schema", "tool", "none", "units"}).Draw(rt, "form")]
		text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }), rapid.SampledFrom([]string{strings.Repeat("\x00", 300), strings.Repeat("😀", 200), strings.Repeat("a b", 500)})).Draw(rt, "text")
		q := judge.Question{Session: session(text)}
		if rapid.Bool().Draw(rt, "again") {
			q.Unreadable = &judge.Reply{Class: assay.ClassMalformed, Error: "the answer could not be read: it is empty", Raw: text}
		}
		d := j.Draft(q)
		d.Send(t.Context())
		if n := counter.Count(string(request.Body)); n+margin > d.Load.InputMost {
			rt.Fatalf("%d tokens in the body, at most %d", n, d.Load.InputMost)
		}
		if n := counter.Count(strings.Join(request.Messages(), "\n")); n > d.Load.InputMost {
			rt.Fatalf("%d tokens of text, at most %d", n, d.Load.InputMost)
		}
		if input, most, counted := d.Load.Count(); !counted || input > most || most > d.Load.InputMost {
			rt.Fatalf("counted %d, at most %d of %d", input, most, d.Load.InputMost)
		}
	})
}

func long(n int) *assay.Session {
	s := turns(n)
	for i := range s.Turns {
		s.Turns[i].Messages[1].Content += strings.Repeat(" word", 200)
	}
	return s
}

func TestLongTranscripts(t *testing.T) {
	server := llmtest.New(t, llmtest.Always(llmtest.Verdict(map[string]any{"resolved": true})))
	for name, tc := range map[string]struct {
		change change
		class  assay.Class
		says   string
		cut    bool
		by     string
	}{
		"refused by default": {func(_ *Spec, set *Settings, _ *judge.Definition) { set.ContextTokens = 16_000 }, assay.ClassContextTooLong, "model's context of 16000", false, ""},
		"head and tail, counted": {func(s *Spec, set *Settings, _ *judge.Definition) {
			s.Model, s.LongTranscripts, set.ContextTokens = "gpt-4o-2024-08-06", longHeadAndTail, 16_000
		}, "", "", true, "o200k_base"},
		"head and tail, guessed": {func(s *Spec, set *Settings, _ *judge.Definition) {
			s.LongTranscripts, set.ContextTokens = longHeadAndTail, 16_000
		}, "", "", true, guessedTokens},
		"head and tail, bounded by hand": {func(s *Spec, _ *Settings, _ *judge.Definition) {
			s.LongTranscripts, s.TranscriptTokens = longHeadAndTail, 2000
		}, "", "", true, guessedTokens},
		"long enough": {func(s *Spec, set *Settings, _ *judge.Definition) {
			s.LongTranscripts, set.ContextTokens = longHeadAndTail, 200_000
		}, "", "", false, guessedTokens},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJudge(t, server.BaseURL, tc.change)
			before := server.Count()
			d := j.Draft(judge.Question{Session: long(100)})
			if tc.class != "" {
				if d.Ended == nil || d.Ended.Class != tc.class || !strings.Contains(d.Ended.Error, tc.says) || server.Count() != before {
					t.Fatalf("%+v", d.Ended)
				}
				return
			}
			if d.Ended != nil || d.Seen.Cut != tc.cut || j.spec.CountedBy != tc.by {
				t.Fatalf("%+v cut %v by %s", d.Ended, d.Seen.Cut, j.spec.CountedBy)
			}
			if tc.cut && (j.cutter.count(d.Seen.Text) > j.spec.TranscriptTokens || !regexp.MustCompile(`(?m)^\[\d+ messages of turns \d+ to \d+ are left out here, [\d,]+ bytes\]$`).MatchString(d.Seen.Text) ||
				!strings.Contains(d.Seen.Text, "question 0\n") || !strings.Contains(d.Seen.Text, "reply 99")) {
				t.Errorf("%d tokens of %d: %.2000s", j.cutter.count(d.Seen.Text), j.spec.TranscriptTokens, d.Seen.Text)
			}
			if r := d.Send(t.Context()); r.Class != "" {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestWhatCannotBeBoundIsRefusedWhenApplied(t *testing.T) {
	for name, tc := range map[string]struct {
		change    func(*Spec, *Settings, *judge.Definition)
		says, how string
	}{
		"context not known":  {func(s *Spec, _ *Settings, _ *judge.Definition) {}, "is not known", "transcript_tokens"},
		"context too small":  {func(s *Spec, set *Settings, _ *judge.Definition) { set.ContextTokens = 4000 }, "too few", "longer context"},
		"bound too small":    {func(s *Spec, _ *Settings, _ *judge.Definition) { s.TranscriptTokens = 10 }, "too few", "1000"},
		"judge of turns":     {func(s *Spec, _ *Settings, d *judge.Definition) { s.TranscriptTokens, d.Unit = 5000, assay.UnitTurn }, "might be left out", "refuse"},
		"bound of a refusal": {func(s *Spec, _ *Settings, _ *judge.Definition) { s.LongTranscripts, s.TranscriptTokens = "", 5000 }, "long ones are refused", "head_and_tail"},
		"another strategy":   {func(s *Spec, _ *Settings, _ *judge.Definition) { s.LongTranscripts = "head" }, "not known", "refuse"},
	} {
		s, set, d := Spec{Model: "m", LongTranscripts: longHeadAndTail}, Settings{Settings: provider.Settings{BaseURL: "http://localhost/v1"}}, judge.Definition{Unit: assay.UnitSession, Criteria: resolved}
		tc.change(&s, &set, &d)
		set.Settings, _ = set.Complete()
		err := s.Complete(d, set, 0)
		var e *assay.Error
		if err != nil {
			e, _ = err.(*assay.Error)
		}
		if e == nil || !strings.Contains(e.Message, tc.says) || !strings.Contains(e.Hint, tc.how) {
			t.Errorf("%s: %v %+v", name, err, e)
		}
	}
}

func TestATokenizerThatChangedIsNotUsed(t *testing.T) {
	if _, err := counterNamed("o200k_base", "some-other-model"); assay.CodeOf(err) != assay.CodeInvalid {
		t.Error(err)
	}
	if c, err := counterNamed(guessedTokens, "gpt-4o"); err != nil || c.exact {
		t.Errorf("a version that was cut by a guess is cut so again: %+v %v", c, err)
	}
}

// What waits for its answer keeps no image, no metadata and no reasoning of the session.
func TestADraftHoldsNoMoreThanItNeeds(t *testing.T) {
	j := newJudge(t, "http://localhost/v1")
	const n, part = 20, 1 << 20
	var drafts [n]judge.Draft
	before := heap()
	for i := range drafts {
		s := session(strings.Repeat("word ", 1600))
		s.Turns[0].Messages[0].Parts = []assay.Part{{Kind: "image", Data: strings.Repeat("A", part)}}
		s.Turns[0].Messages[1].Reasoning = strings.Repeat("B", part)
		s.Turns[0].Metadata = map[string]json.RawMessage{"x": json.RawMessage(`"` + strings.Repeat("C", part) + `"`)}
		drafts[i] = j.Draft(judge.Question{Session: s})
	}
	each := (heap() - before) / n
	t.Logf("%d bytes are held by a draft of an 8 KB session", each)
	if each > 64<<10 {
		t.Errorf("%d bytes are held by a draft", each)
	}
	runtime.KeepAlive(&drafts)
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
