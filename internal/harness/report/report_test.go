package report

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode"

	"assay/internal/assay"
)

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestParse(t *testing.T) {
	for line, want := range map[string]Event{
		"progress 3":                             {Progress: &assay.Progress{Done: 3}},
		"progress 3/20":                          {Progress: &assay.Progress{Done: 3, Total: 20}},
		"progress 0/20 warming up":               {Progress: &assay.Progress{Total: 20, Text: "warming up"}},
		"  progress\t1.5/3  half  way\n":         {Progress: &assay.Progress{Done: 1.5, Total: 3, Text: "half  way"}},
		"progress 2/1":                           {Progress: &assay.Progress{Done: 2, Total: 1}},
		"metric accuracy 0.93":                   {Metric: &assay.Metric{Name: "accuracy", Value: 0.93}},
		"metric größe -1e-3":                     {Metric: &assay.Metric{Name: "größe", Value: -0.001}},
		"link https://x.example/r/7":             {Link: &assay.Link{URL: "https://x.example/r/7"}},
		"link http://[::1]:80/a?b#c The run":     {Link: &assay.Link{URL: "http://[::1]:80/a?b#c", Text: "The run"}},
		"progress 1 \x1b[31mred\x1b[0m\u202e":    {Progress: &assay.Progress{Done: 1, Text: "red"}},
		"progress 1 " + strings.Repeat("ä", 400): {Progress: &assay.Progress{Done: 1, Text: strings.Repeat("ä", 250)}},
	} {
		got, err := Parse(line, noon)
		want.At = noon
		if want.Progress != nil {
			want.Progress.At = noon
		}
		if want.Metric != nil {
			want.Metric.At = noon
		}
		if err != nil || text(got) != text(want) {
			t.Errorf("%.80q: %s, want %s: %v", line, text(got), text(want), err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for line, word := range map[string]string{
		"":                    "is not known",
		"hello world":         "is not known",
		"Progress 1/2":        "is not known",
		"progress":            "3/20",
		"progress x/2":        "3/20",
		"progress 1/0":        "3/20",
		"progress 1/":         "3/20",
		"progress -1/2":       "3/20",
		"progress NaN":        "3/20",
		"progress 1/Inf":      "3/20",
		"progress 1e999":      "3/20",
		"metric accuracy":     "accuracy 0.93",
		"metric accuracy NaN": "accuracy 0.93",
		"metric a 1 2":        "accuracy 0.93",
		"metric a\x00b 1":     "accuracy 0.93",
		"metric " + strings.Repeat("n", assay.MaxMetricName+1) + " 1": "accuracy 0.93",
		"link javascript:alert(1)":                                    "not an http or https address",
		"link":                                                        "not an http or https address",
		"progress 1 " + strings.Repeat("x", MaxLine):                  "too long",
	} {
		if e, err := Parse(line, noon); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%.60q: %+v, %v, want an error with %q", line, e, err, word)
		}
	}
}

// text is an event as it is stored.
func text(e Event) string {
	b, err := json.Marshal(e)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// hold checks what is true of every event: one thing is said, in printable and bounded words, and what is an
// address is http or https.
func hold(t *testing.T, e Event, guessed bool) {
	t.Helper()
	said := 0
	texts := []string{e.Experiment}
	addresses := []string{e.Experiment}
	if e.Experiment != "" {
		said++
	}
	if p := e.Progress; p != nil {
		said++
		texts = append(texts, p.Text)
		if p.Done < 0 || p.Total < 0 || p.Guessed != guessed {
			t.Errorf("progress %+v", p)
		}
	}
	if m := e.Metric; m != nil {
		said++
		texts = append(texts, m.Name)
	}
	if l := e.Link; l != nil {
		said++
		texts = append(texts, l.URL, l.Text)
		addresses = append(addresses, l.URL+" ")
	}
	if said != 1 || e.At != noon {
		t.Errorf("%d things in %s", said, text(e))
	}
	for _, s := range texts {
		if len(s) > 2000 || strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) >= 0 {
			t.Errorf("text %.200q", s)
		}
	}
	for _, a := range addresses {
		if low := strings.ToLower(a); a != "" && !strings.HasPrefix(low, "http://") && !strings.HasPrefix(low, "https://") {
			t.Errorf("address %q", a)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, line := range []string{"progress 1/2 a", "metric a 1", "link https://a b", "progress 1e308/1e308", "link \x1b]8;;x"} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		e, err := Parse(line, noon)
		if err != nil {
			if len(err.Error()) > 1000 || strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("error %q", err)
			}
			return
		}
		hold(t, e, false)
	})
}
