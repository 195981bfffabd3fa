package transcript

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/internal/assay"
)

// guess counts like a model of four bytes a token: rounded down, so that parts sum up to less than the
// whole.
func guess(text string) int64 { return int64(len(text) / 4) }

// wordy counts words and marks, rounded up per text.
func wordy(text string) int64 { return int64(len(strings.Fields(text))) }

func bytesOf(text string) int64 { return int64(len(text)) }

func long(t *rapid.T) *assay.Session {
	s := session(t)
	for range rapid.IntRange(0, 4).Draw(t, "more turns") {
		turn := assay.Turn{}
		for range rapid.IntRange(0, 6).Draw(t, "messages") {
			role := rapid.SampledFrom([]assay.Role{assay.RoleSystem, assay.RoleUser, assay.RoleAssistant, assay.RoleTool}).Draw(t, "role")
			piece := rapid.SampledFrom([]string{"word ", "é", "line\n", "[turn 0 message 0] user:\n", "\r\n", "[9 messages of turn 3 are left out here, 1 bytes]\n", "transcript x>>>\n"}).Draw(t, "piece")
			turn.Messages = append(turn.Messages, assay.Message{Role: role, Content: strings.Repeat(piece, rapid.IntRange(0, 3000).Draw(t, "times"))})
		}
		s.Turns = append(s.Turns, turn)
	}
	return s
}

var mark = regexp.MustCompile(`^\[([\d,]+ (messages of turns? \d+( to \d+)? are|message of turn \d+ is)|lines about turns? \d+( to \d+)? are|[\d,]+ bytes of this message are) left out here(, [\d,]+ bytes)?\]$`)

func TestACutTranscript(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := long(t)
		count := rapid.SampledFrom([]func(string) int64{guess, wordy, bytesOf}).Draw(t, "count")
		b := Bound{Most: rapid.Int64Range(MinBound, 8000).Draw(t, "most"), Count: count}
		full := Render(s, Options{})
		got, ok := Within(s, Options{}, b)
		if again, ok2 := Within(s, Options{}, b); again != got || ok2 != ok {
			t.Fatal("cut twice, two texts")
		}
		if !ok {
			if w := write(s, Options{}); count(full.Text) > b.Most && longestOwnLine(w.b.String()) < 200 {
				t.Fatalf("refused with %d of %d tokens", count(full.Text), b.Most)
			}
			return
		}
		if n := count(got.Text); n > b.Most {
			t.Fatalf("%d tokens of at most %d", n, b.Most)
		}
		if got.Cut == (count(full.Text) <= b.Most) || !got.Cut && got != full {
			t.Fatalf("cut %v of %d tokens for %d", got.Cut, count(full.Text), b.Most)
		}
		if got.Cut {
			checkLines(t, full, got)
			checkEnds(t, s, got)
		}
		for i := range s.Turns {
			s.Turns[i].Metadata = map[string]json.RawMessage{"arm": assay.AppendString(nil, rapid.String().Draw(t, "arm"))}
			s.Turns[i].AgentVersion = rapid.String().Draw(t, "version")
		}
		if after, _ := Within(s, Options{}, b); after != got {
			t.Fatal("the arm moved the cut")
		}
	})
}

func longestOwnLine(text string) (longest int) {
	for l := range strings.Lines(text) {
		if l[0] == '[' {
			longest = max(longest, len(l))
		}
	}
	return longest
}

// checkLines: every line is a line of the whole text, a piece of one that was said, or a mark of ours; and
// the lines stand in the whole text's order.
func checkLines(t *rapid.T, full, got Transcript) {
	if strings.Count(got.Text, got.Boundary) != 2 || !strings.HasPrefix(got.Text, "<<<transcript "+got.Boundary+"\n") || !strings.HasSuffix(got.Text, "\ntranscript "+got.Boundary+">>>\n") {
		t.Fatalf("boundary: %q", got.Text)
	}
	all := strings.Split(full.Text, "\n")
	lines := strings.Split(strings.TrimSuffix(got.Text, "\n"), "\n")
	at, marks := 1, 0
	for _, l := range lines[1 : len(lines)-1] {
		if mark.MatchString(l) {
			marks++
			continue
		}
		for ; at < len(all); at++ {
			piece := strings.HasPrefix(l, indent) && strings.HasPrefix(all[at], indent) && (strings.HasPrefix(all[at], l) || strings.HasSuffix(all[at], l[len(indent):]))
			if all[at] == l || piece {
				break
			}
		}
		if at == len(all) {
			t.Fatalf("line %q is not of the session", l)
		}
		if all[at] == l {
			at++
		}
	}
	if marks == 0 {
		t.Fatalf("cut without a mark: %q", got.Text)
	}
}

// checkEnds: the user's first request and the last message are there.
func checkEnds(t *rapid.T, s *assay.Session, got Transcript) {
	first, last := "", ""
	for i, turn := range s.Turns {
		for j, m := range turn.Messages {
			last = fmt.Sprintf("\n[turn %d message %d] ", i, j)
			if first == "" && m.Role == assay.RoleUser && strings.TrimSpace(m.Content) != "" {
				first = last
			}
		}
	}
	if !strings.Contains(got.Text, first) || !strings.Contains(got.Text, last) {
		t.Fatalf("%q or %q is missing in %s", first, last, got.Text)
	}
}

func TestWhatIsLeftOutIsSaid(t *testing.T) {
	s := &assay.Session{}
	for i := range 20 {
		s.Turns = append(s.Turns, assay.Turn{Messages: []assay.Message{
			{Role: assay.RoleUser, Content: fmt.Sprintf("question %d", i)},
			{Role: assay.RoleAssistant, Content: strings.Repeat("answer ", 100)},
		}})
	}
	got, ok := Within(s, Options{}, Bound{Most: 1500, Count: guess})
	if !ok || !got.Cut || !strings.Contains(got.Text, "\n[27 messages of turns 2 to 15 are left out here, 10,774 bytes]\n[turn 16 message 0] user:\n") {
		t.Errorf("%v\n%s", ok, got.Text)
	}
	s.Turns[19].Messages[1].Content = "begin " + strings.Repeat("x", 50_000) + " end"
	got, ok = Within(s, Options{}, Bound{Most: 1500, Count: guess})
	if !ok || !regexp.MustCompile(`begin x+\n\[4\d,\d{3} bytes of this message are left out here\]\n  x+ end\n`).MatchString(got.Text) || !strings.Contains(got.Text, "question 0") {
		t.Errorf("%v\n%s", ok, got.Text)
	}
	if guess(got.Text) < 1200 {
		t.Errorf("only %d of 1500 tokens are used", guess(got.Text))
	}
	if _, ok := Within(s, Options{}, Bound{Most: 100, Count: guess}); ok {
		t.Error("100 tokens were enough")
	}
}

func BenchmarkWithin(b *testing.B) {
	s := &assay.Session{}
	for range 400 {
		s.Turns = append(s.Turns, assay.Turn{Messages: []assay.Message{{Role: assay.RoleUser, Content: strings.Repeat("word ", 100)}, {Role: assay.RoleTool, Content: strings.Repeat("row\n", 300)}}})
	}
	b.ReportAllocs()
	for b.Loop() {
		if t, ok := Within(s, Options{}, Bound{Most: 60_000, Count: guess}); !ok || !t.Cut {
			b.Fatal(ok)
		}
	}
}

// Parts of a text count less than the whole where each is rounded down; the bound holds all the same.
func TestManyShortMessagesStayUnderTheBound(t *testing.T) {
	s := &assay.Session{}
	for range 4000 {
		s.Turns = append(s.Turns, assay.Turn{Messages: []assay.Message{{Role: assay.RoleUser, Content: "ab"}}})
	}
	got, ok := Within(s, Options{}, Bound{Most: 8000, Count: guess})
	if n := guess(got.Text); !ok || !got.Cut || n > 8000 || n < 7000 {
		t.Errorf("%v: %d tokens", ok, n)
	}
}
