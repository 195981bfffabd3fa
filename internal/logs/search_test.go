package logs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func found(t testing.TB, dir, text string) (lines []int64, texts []string) {
	t.Helper()
	hits, next, err := Search(t.Context(), dir, text, 0, 1000)
	if err != nil || next != 0 {
		t.Fatal(next, err)
	}
	for _, h := range hits {
		lines, texts = append(lines, h.Line), append(texts, h.Text)
	}
	return lines, texts
}

func TestSearch(t *testing.T) {
	dir := written(t, Options{Segment: 7}, "first\n\x1b[1mEr\x1b[31mror\x1b[0m: no\r\nerro\rr\n10%\r50%\r99%\nGRÖSSE\n\n\tlast ERROR")
	for text, want := range map[string]string{
		"error": "[2 7] [Error: no \tlast ERROR]", "ERROR:": "[2] [Error: no]", "größe": "[] []", "grösse": "[5] [GRÖSSE]",
		"rrro": "[3] [rrro]", // what the terminal shows of erro\rr
		"50%":  "[] []", "99%": "[4] [99%]", "[31": "[] []", "no\r": "[] []", "first\n": "[] []", "\tLAST": "[7] [\tlast ERROR]",
	} {
		lines, texts := found(t, dir, text)
		if got := fmt.Sprint(lines, " ", texts); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	for line, want := range map[string]string{"ab\x1b[2Kc": "  c", "abc\b\bx": "axc", "50%\r99%": "99%", "a\x1b[32mb": "ab", "é\x1b]0;no\x07É": "éé"} {
		if lines, _ := found(t, written(t, Options{}, "first\n"+line+"\n"), want); fmt.Sprint(lines) != "[2]" {
			t.Errorf("%q is not found in %q", want, line)
		}
	}
	if lines, _ := found(t, dir, ""); len(lines) != 7 {
		t.Errorf("every line: %v", lines)
	}
}

func TestSearchGoesOn(t *testing.T) {
	var text strings.Builder
	for i := range 5000 {
		text.WriteString(numbered(i))
	}
	dir := written(t, Options{Segment: 3000}, text.String())
	var got []int64
	for from, calls := int64(0), 0; ; calls++ {
		hits, next, err := Search(t.Context(), dir, "LINE 4", from, 7)
		if err != nil || len(hits) > 7 || calls > 1000 {
			t.Fatal(len(hits), calls, err)
		}
		for _, h := range hits {
			got = append(got, h.Line-1)
			if !strings.HasPrefix(text.String()[h.Offset:], fmt.Sprintf("line %d ", h.Line-1)) {
				t.Fatalf("%+v", h)
			}
		}
		if from = next; next == 0 {
			break
		}
	}
	if len(got) != 1+10+100+1000 || got[0] != 4 || got[len(got)-1] != 4999 {
		t.Errorf("%d hits: %v", len(got), got)
	}
}

// A progress bar is one line of many megabytes, of which a person sees the last state only; other long
// lines are looked at in parts, and what stands across two of them is found, once.
func TestSearchLongLines(t *testing.T) {
	var bar strings.Builder
	for i := range 300_000 {
		fmt.Fprintf(&bar, "\r\x1b[K%d/300000 [%s]", i, strings.Repeat("=", i%9))
	}
	long := strings.Repeat("x", maxLine-3) + "needle" + strings.Repeat("€", 2*searchBytes/3) + "NEEDLE" + strings.Repeat("y", maxLine) + "needles"
	dir := written(t, Options{}, "begin\n", bar.String(), "\nmiddle\n", long, "\nend needle\n")
	if lines, _ := found(t, dir, "299999/300000"); fmt.Sprint(lines) != "[2]" {
		t.Error(lines)
	}
	if lines, _ := found(t, dir, "299998/"); lines != nil {
		t.Error("what was overwritten is found in", lines)
	}
	lines, texts := found(t, dir, "Needle")
	if fmt.Sprint(lines) != "[4 5]" || !strings.Contains(texts[0], "xneedle") || len(texts[0]) > maxHit+3 {
		t.Errorf("%v %.600q", lines, texts)
	}
	if lines, _ := found(t, dir, "needles"); fmt.Sprint(lines) != "[4]" {
		t.Error(lines)
	}
	for at := 1; at < 5; at++ { // wherever the parts meet
		dir := written(t, Options{}, "\a"+strings.Repeat("x", at*maxLine-4)+"needle"+strings.Repeat("x", maxLine)+"\n")
		if lines, _ := found(t, dir, "NEEDLE"); fmt.Sprint(lines) != "[1]" {
			t.Error(at, lines)
		}
	}
	hits, next, err := Search(t.Context(), dir, "needle", 0, 1)
	if err != nil || len(hits) != 1 {
		t.Fatal(hits, err)
	}
	if hits, _, err = Search(t.Context(), dir, "needle", next, 1); err != nil || len(hits) != 1 || hits[0].Line != 5 || hits[0].Text != "end needle" {
		t.Errorf("goes on in the same line: %+v, %v", hits, err)
	}
}

func TestSearchEnds(t *testing.T) {
	dir := written(t, Options{}, "text\n")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, _, err := Search(ctx, dir, "text", 0, 1); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

var escapes = regexp.MustCompile("\x1b(\\[[0-9;]*m|\\(B)|[\u0080-\u009f]")

// Against all lines taken at once and slowly: colours away, then each \r goes back.
func TestSearchIsWhatIsSeen(t *testing.T) {
	root := t.TempDir()
	rapid.Check(t, func(rt *rapid.T) {
		pieces := []string{"a", "B", "ab", "\n", "\r", "\x1b[31m", "\x1b(B", "ä", "Ä", " ", "\u009b", "\u0085"}
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 60).Draw(rt, "text"), "")
		want := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "ä", " "}), 1, 3).Draw(rt, "want"), "")
		dir, err := os.MkdirTemp(root, "")
		if err != nil {
			rt.Fatal(err)
		}
		w, err := OpenWriter(dir, Options{Segment: 16, Bound: 1 << 20})
		if err != nil {
			rt.Fatal(err)
		}
		fmt.Fprint(w, text)
		if err := w.Close(); err != nil {
			rt.Fatal(err)
		}
		var lines []int64
		for i, line := range strings.Split(text, "\n") {
			var cells []rune
			for _, part := range strings.Split(escapes.ReplaceAllString(line, ""), "\r") {
				over := []rune(part)
				cells = append(over, cells[min(len(over), len(cells)):]...)
			}
			if strings.Contains(strings.ToLower(string(cells)), want) {
				lines = append(lines, int64(i)+1)
			}
		}
		hits, _, err := Search(context.Background(), dir, want, 0, 1000)
		if err != nil {
			rt.Fatal(err)
		}
		var got []int64
		for _, h := range hits {
			got = append(got, h.Line)
		}
		if fmt.Sprint(got) != fmt.Sprint(lines) {
			rt.Fatalf("%q in %q: %v, want %v", want, text, got, lines)
		}
	})
}

func TestFindLine(t *testing.T) {
	text := "one\ntwo\n\nfour is longer than a segment\nfive\nrest"
	dir := written(t, Options{Segment: 8}, text)
	for line, want := range map[int64][2]int64{
		-1: {0, 1}, 0: {0, 1}, 1: {0, 1}, 2: {4, 2}, 3: {8, 3}, 4: {9, 4}, 5: {39, 5}, 6: {44, 6}, 7: {48, 6}, 99: {48, 6},
	} {
		at, actual, err := FindLine(dir, line)
		if err != nil || [2]int64{at, actual} != want {
			t.Errorf("line %d: at %d, line %d, want %v, %v", line, at, actual, want, err)
		}
		c, err := Read(dir, at, 100, true)
		if err != nil || c.Line+1 != actual || !bytes.Equal(c.Data, []byte(text[at:])) {
			t.Errorf("read there: line %d, %q, %v", c.Line, c.Data, err)
		}
	}
}
