package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
)

// watched are the events of output that comes in chunks, a second apart, with its end.
func watched(t *testing.T, rule *assay.LinkRule, chunks ...string) (events []Event) {
	t.Helper()
	w, err := NewWatcher(rule)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range chunks {
		events = append(events, w.See([]byte(c), noon.Add(time.Duration(i)*time.Second))...)
	}
	return append(events, w.Rest(noon.Add(time.Hour))...)
}

func TestExperimentAddress(t *testing.T) {
	view := assay.LinkRule{Pattern: `View results: (https?://\S+)`}
	any := assay.LinkRule{Pattern: `https?://\S+`}
	for _, c := range []struct {
		name   string
		rule   assay.LinkRule
		first  bool
		chunks []string
		want   string // the addresses in the order in which they were told
	}{
		{"a line", view, false, []string{"x\nView results: https://a/1\ny\n"}, "https://a/1"},
		{"split over chunks", view, false, []string{"View res", "ults: https://a", "/12", "3\n"}, "https://a/123"},
		{"without a line's end", view, false, []string{"View results: https://a/1"}, "https://a/1"},
		{"the last one", any, false, []string{"https://a/1\nhttps://a/2\n", "https://a/3\n"}, "https://a/2 https://a/3"},
		{"the first one", any, true, []string{"https://a/1\nhttps://a/2\n", "https://a/3\n"}, "https://a/1"},
		{"the first of one line", any, true, []string{"https://a/1 https://a/2\n"}, "https://a/1"},
		{"the same one again", any, false, []string{"https://a/1\n", "https://a/1\n"}, "https://a/1"},
		{"the last that is an address", assay.LinkRule{Pattern: `see (\S+)`}, false, []string{"see https://a/1\nsee javascript:alert(1)\n"}, "https://a/1"},
		{"the first that is an address", assay.LinkRule{Pattern: `see (\S+)`}, true, []string{"see file:///x\nsee https://a/1\n"}, "https://a/1"},
		{"coloured", view, false, []string{"View \x1b[1mresults\x1b[0m: \x1b[4;36mhttps://a/1\x1b[0m\n"}, "https://a/1"},
		{"a link of the terminal", any, false, []string{"\x1b]8;;https://a/hidden\x1b\\https://a/1\x1b]8;;\x1b\\\n"}, "https://a/1"},
		{"anchors are a line's", assay.LinkRule{Pattern: `^run (https://\S+)$`}, false, []string{"a\nrun https://a/1\r\nnot run https://a/2\n"}, "https://a/1"},
		{"nothing goes over a line's end", assay.LinkRule{Pattern: `at[^x]*(https://\S+)`}, false, []string{"at\nhttps://a/1\n"}, ""},
		{"a group that did not match", assay.LinkRule{Pattern: `none|(https://\S+)`}, false, []string{"none\n"}, ""},
		{"overwritten lines", view, false, []string{"1/2\rView results: https://a/1\r2/2\n"}, "https://a/1"},
		{"after a long line without an end", view, false, []string{strings.Repeat("x", 3*maxWatched), " View results: https://a/1\n"}, "https://a/1"},
	} {
		c.rule.First = c.first
		var got []string
		for _, e := range watched(t, &c.rule, c.chunks...) {
			if e.Experiment != "" {
				got = append(got, e.Experiment)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if _, err := NewWatcher(&assay.LinkRule{Pattern: "("}); err == nil || !strings.Contains(err.Error(), "missing closing") {
		t.Errorf("a bad pattern: %v", err)
	}
}

func TestGuessedProgress(t *testing.T) {
	for _, c := range []struct {
		name   string
		chunks []string
		want   string
	}{
		{"tqdm", []string{"\r 37%|███▋      | 37/100 [00:01<00:02, 31.2it/s]"}, "37/100"},
		{"tqdm at its end", []string{"\r100%|██████████| 100/100 [00:03<00:00]\n"}, "100/100"},
		{"the newest of a chunk", []string{"\r 1/9 [\r 2/9 [\r 3/9 ["}, "3/9"},
		{"brackets", []string{"done (3/20)\n"}, "3/20"},
		{"a line's end", []string{"12/40\r"}, "12/40"},
		{"behind a description", []string{"epoch 1/3:  12/40 [00:01]\r"}, "12/40"},
		{"side by side", []string{"1/3 12/40\n"}, "12/40"},
		{"coloured", []string{"\r\x1b[32m5/9\x1b[0m [\n"}, "5/9"},
		{"nothing new", []string{"3/9\n", "3/9\n"}, "3/9"},
		{"half a number", []string{"\r 3/10", "0 ["}, "3/100"},
		{"the other half", []string{"\r 13", "7/200 ["}, "137/200"},
		{"half of a line that is too long to be held", []string{"13" + "7/200 [" + strings.Repeat("x", maxNewest-len("7/200 ["))}, ""},
		{"a date", []string{"2026/03/01 12:00\n", "05/12 10:11\n"}, ""},
		{"a path", []string{"/a/1/2/b\n", "a/1\n", "src/3/4 x\n"}, ""},
		{"more than all", []string{"5/3\n"}, ""},
		{"of nothing", []string{"0/0\n"}, ""},
		{"a report on stdout is a guess at most", []string{"progress 3/9 of a model's text\n"}, "3/9"},
		{"a metric and a link on stdout are nothing", []string{"metric a 1\nlink https://a/1\n"}, ""},
	} {
		var got []string
		for _, e := range watched(t, nil, c.chunks...) {
			if e.Progress == nil || !e.Progress.Guessed || e.Metric != nil || e.Link != nil || e.Experiment != "" {
				t.Fatalf("%s: %s", c.name, text(e))
			}
			got = append(got, fmt.Sprintf("%v/%v", e.Progress.Done, e.Progress.Total))
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestGuessesAreSeldom looks at a fast bar: at most five guesses a second, and the last count is told.
func TestGuessesAreSeldom(t *testing.T) {
	w, _ := NewWatcher(nil)
	var got []string
	for i := range 1000 { // one second
		for _, e := range w.See(fmt.Appendf(nil, "\r%d/1000 [", i+1), noon.Add(time.Duration(i)*time.Millisecond)) {
			got = append(got, fmt.Sprint(e.Progress.Done))
		}
	}
	for _, e := range w.Rest(noon.Add(time.Second)) {
		got = append(got, fmt.Sprint(e.Progress.Done))
	}
	if want := "1 201 401 601 801 1000"; strings.Join(got, " ") != want {
		t.Errorf("guesses %v, want %s", got, want)
	}
}

func FuzzWatcher(f *testing.F) {
	f.Add("View results: https://a/1\n37/100 [", 5)
	f.Add("\x1b]8;;http://x\x1b\\see javascript:x\r", 1)
	f.Add("https://a\xff/\u202eb \n", 3)
	f.Fuzz(func(t *testing.T, output string, size int) {
		for _, rule := range []*assay.LinkRule{nil, {Pattern: `(?i)https?://\S*`}, {Pattern: `see (.*)|(x)`, First: true}} {
			w, err := NewWatcher(rule)
			if err != nil {
				t.Fatal(err)
			}
			var events []Event
			for rest := output; rest != ""; {
				n := min(len(rest), 1+max(0, size)%100)
				events = append(events, w.See([]byte(rest[:n]), noon)...)
				rest = rest[n:]
			}
			for _, e := range append(events, w.Rest(noon)...) {
				hold(t, e, true)
				if e.Metric != nil || e.Link != nil {
					t.Errorf("output was taken for a report: %s", text(e))
				}
			}
		}
	})
}

// BenchmarkWatcher watches 10 MB of a chatty harness, in chunks as a pipe gives them: the share of a core at
// 10 MB/s is the seconds of one operation.
func BenchmarkWatcher(b *testing.B) {
	var output strings.Builder
	for i := 0; output.Len() < 10<<20; i++ {
		fmt.Fprintf(&output, "2026-03-01 12:00:00 INFO runner: case %d of the set was answered by the model in %d ms\n", i, i%977)
		if i%100 == 0 {
			fmt.Fprintf(&output, "\r %d/100000 [00:01]", i)
		}
	}
	chunks := strings.SplitAfter(output.String(), "\n")
	for _, c := range []struct {
		name string
		rule *assay.LinkRule
	}{
		{"no rule", nil},
		{"literal begin", &assay.LinkRule{Pattern: `View results: (https?://\S+)`}},
		{"no literal begin", &assay.LinkRule{Pattern: `(?i)results?:\s+(https?://\S+)`}},
	} {
		for _, size := range []int{1, 300} { // lines a chunk
			b.Run(fmt.Sprintf("%s, %d lines a chunk", c.name, size), func(b *testing.B) {
				var joined [][]byte
				for i := 0; i < len(chunks); i += size {
					joined = append(joined, []byte(strings.Join(chunks[i:min(i+size, len(chunks))], "")))
				}
				b.SetBytes(int64(output.Len()))
				b.ReportAllocs()
				for b.Loop() {
					w, err := NewWatcher(c.rule)
					if err != nil {
						b.Fatal(err)
					}
					for i, chunk := range joined {
						w.See(chunk, noon.Add(time.Duration(i)*time.Second/time.Duration(len(joined))))
					}
				}
			})
		}
	}
}
