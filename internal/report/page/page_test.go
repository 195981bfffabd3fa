package page_test

import (
	"bytes"
	"encoding/xml"
	"io"
	"math"
	"strings"
	"testing"
	"unicode"

	"github.com/mattn/go-runewidth"
	"pgregory.net/rapid"

	"assay/internal/report/page"
)

func pointer(x float64) *float64 { return &x }

// everything is a page with each kind of block, which says text everywhere.
func everything(text string, x float64) page.Page {
	mark := &page.Mark{Value: x, Low: pointer(x - 0.1), High: pointer(x + 0.1)}
	table := page.Table{Title: text, Zero: true, Low: -1, High: 1, Say: func(float64) string { return text },
		Columns: []page.Column{{Name: text}, {Name: text, Right: true}, {Name: "weighty" + text, Weight: 2}, {Name: "lighter", Weight: 1, Right: true}},
		Rows: []page.Row{{Cells: []string{text, text, text, text}, Mark: mark}, {Cells: []string{text, "absent: " + text}, Indent: 1},
			{Cells: []string{text}}, {}}}
	chart := page.Chart{Title: text, Low: 0, High: 1, Points: []page.Point{{Name: text, Value: &x, Low: pointer(x - 0.1), High: pointer(x + 0.1)}, {Name: text, Why: text}, {Name: "2026-03-01", Value: &x}}}
	bars := chart
	bars.Kind = page.Bars
	chart.Kind = page.Intervals
	return page.Page{Title: text, Blocks: []page.Block{page.Heading{Level: 2, Text: text}, page.Heading{Level: 3, Text: text},
		page.Paragraph{Text: text, Tone: page.Lead}, page.Paragraph{Text: text, Tone: page.Warning}, page.Paragraph{Text: text, Tone: page.Note}, page.Paragraph{Text: text},
		page.Facts{Facts: [][2]string{{"name", text}, {text, text}}}, page.List{Items: []string{text, text}}, table, chart, bars,
		page.Table{}, page.Chart{Kind: page.Intervals}, page.Chart{Kind: page.Bars}, page.Facts{}, page.List{}}}
}

// raw is the first rune of a text that a terminal would act on or nobody would see, or "".
func raw(s string) string {
	for _, r := range s {
		if r != '\n' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)) {
			return string(r)
		}
	}
	return ""
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"plain", "\x1b[2J\r\n\u202e\u200b\u009b31m", "<script>alert(1)</script>", "| a | `b` [c](d) @me", strings.Repeat("漢字", 80), "\xff\xfe", "e\u0301", "\u00ad\u3164", ""} {
		f.Add(s, 0.5, 60)
	}
	f.Add("x", math.NaN(), 0)
	f.Add("x", math.Inf(1), -5)
	f.Fuzz(func(t *testing.T, s string, x float64, columns int) {
		p := everything(s, x)
		for name, write := range map[string]func(io.Writer) error{"text": func(w io.Writer) error { return p.Text(w, columns%200) }, "markdown": p.Markdown, "html": p.HTML} {
			var out bytes.Buffer
			if err := write(&out); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if c := raw(out.String()); c != "" {
				t.Errorf("%s holds %q of %q", name, c, s)
			}
			if name == "html" && s != "NaN" && strings.Contains(out.String(), `="NaN`) {
				t.Errorf("a place is not a number")
			}
		}
	})
}

// What can be wrapped is never wider than the terminal.
func TestTextIsWrapped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		columns := rapid.IntRange(40, 160).Draw(t, "columns")
		s := rapid.StringOfN(rapid.RuneFrom([]rune("ab c,漢é")), 0, 300, -1).Draw(t, "text")
		p := page.Page{Blocks: []page.Block{page.Paragraph{Text: s}, page.Paragraph{Text: s, Tone: page.Warning}, page.Facts{Facts: [][2]string{{"name", s}}}, page.List{Items: []string{s}}}}
		var out bytes.Buffer
		if err := p.Text(&out, columns); err != nil {
			t.Fatal(err)
		}
		widths := runewidth.Condition{}
		for _, line := range strings.Split(out.String(), "\n") {
			if got := widths.StringWidth(line); got > columns {
				t.Fatalf("%d columns of %d: %q", got, columns, line)
			}
		}
	})
}

func TestNarrowTable(t *testing.T) {
	b := page.Table{Columns: []page.Column{{Name: ""}, {Name: "value", Right: true}, {Name: "interval", Right: true}, {Name: "bounds", Right: true, Weight: 1}, {Name: "users", Right: true, Weight: 5}},
		Rows: []page.Row{{Cells: []string{"all", "50.0 %", "40.0 to 60.0", "10.0 to 90.0", "1,234"}, Mark: &page.Mark{Value: 0.5, Low: pointer(0.4), High: pointer(0.6)}},
			{Cells: []string{"a rather long name of an arm", "50.0 %", "absent: fewer than 8 users", "10.0 to 90.0", "3"}, Indent: 1}}}
	for columns, want := range map[int][]string{
		120: {"●", "absent: fewer than 8 users", "users", "bounds"},
		80:  {"●", "absent, fewer than 8 users: interval of a rather long name of an arm", "not shown in so few columns: users", "bounds"},
		40:  {"absent", "not shown in so few columns: bounds", "40.0 to 60.0"},
	} {
		var out bytes.Buffer
		if err := (page.Page{Blocks: []page.Block{b}}).Text(&out, columns); err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(out.String(), w) {
				t.Errorf("%d columns: no %q in\n%s", columns, w, &out)
			}
		}
	}
}

// A page is well formed, whatever it says, and nothing in it is of others: no element, no script, no address.
func TestHTMLHoldsNothingOfOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{`"><script src=http://x>`, `' onload='x`, `<img src=x onerror=y>`, `</svg></title><a href="javascript:x">`, `{{.}}`, `]]>`})).Draw(t, "text")
		var out, clean bytes.Buffer
		if err := everything(s, 0.5).HTML(&out); err != nil {
			t.Fatal(err)
		}
		if err := everything("x", 0.5).HTML(&clean); err != nil {
			t.Fatal(err)
		}
		if got, want := elements(t, out.String()), elements(t, clean.String()); s != "" && got != want {
			t.Fatalf("%q changes what a page is made of:\n%s\n%s", s, got, want)
		}
	})
}

// elements lists the elements and attributes of a page in order.
func elements(t *rapid.T, html string) string {
	d := xml.NewDecoder(strings.NewReader(html))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var out strings.Builder
	for {
		token, err := d.Token()
		if err == io.EOF {
			return out.String()
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, html)
		}
		if e, ok := token.(xml.StartElement); ok {
			out.WriteString(e.Name.Local)
			for _, a := range e.Attr {
				out.WriteString(" " + a.Name.Local)
			}
			out.WriteByte('\n')
		}
	}
}

// A cell of others opens no column, no markup and no mention.
func TestMarkdownCells(t *testing.T) {
	b := page.Table{Columns: []page.Column{{Name: "a"}, {Name: "b"}}, Rows: []page.Row{{Cells: []string{"x | y\n| z", "<b>*_`[l](http://e.org) @me #1 www.e.org"}}}}
	var out bytes.Buffer
	if err := (page.Page{Blocks: []page.Block{b}}).Markdown(&out); err != nil {
		t.Fatal(err)
	}
	want := "| a | b |\n|---|---|\n| x \\| y \\| z | &lt;b&gt;\\*\\_\\`\\[l\\](http:&#47;&#47;e.org) &#64;me \\#1 www&#46;e.org |\n"
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &out, want)
	}
}
