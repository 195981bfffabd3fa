package results

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"assay/internal/assay"
)

// Bounds of a case, in bytes. What is longer loses its end, and the case says so.
const (
	maxText     = 128 << 10 // input, output, expected
	maxReason   = 16 << 10  // reason, error
	maxWhere    = 500
	maxPlace    = 1000
	maxName     = 200 // criterion, model
	maxFindings = 500
	maxExtra    = 64 << 10
	maxCut      = 50 // names of what was cut
)

// bound makes every field of c short enough to be stored and shown.
func bound(c *assay.Case) {
	for _, f := range []struct {
		name string
		text *string
		most int
	}{
		{"input", &c.Input, maxText}, {"output", &c.Output, maxText}, {"expected", &c.Expected, maxText},
		{"error", &c.Error, maxReason}, {"place", &c.Place, maxPlace}, {"model", &c.Model, maxName},
	} {
		boundText(c, f.name, f.text, f.most)
	}
	c.Key = key(c.Key)
	if c.Key == "" {
		c.Key = "unnamed"
	}
	if len(c.Findings) > maxFindings {
		c.Findings = c.Findings[:maxFindings]
		c.Cut = append(c.Cut, "findings")
	}
	for i := range c.Findings {
		boundText(c, "findings."+c.Findings[i].Criterion+".reason", &c.Findings[i].Reason, maxReason)
	}
	c.Cut = slices.Compact(slices.Sorted(slices.Values(c.Cut)))
	if more := len(c.Cut) - maxCut; more > 0 {
		c.Cut = append(c.Cut[:maxCut], fmt.Sprintf("and %d more", more))
	}
}

func boundText(c *assay.Case, name string, text *string, most int) {
	var lost bool
	if *text, lost = cut(clean(*text), most); lost {
		c.Cut = append(c.Cut, name)
	}
}

// clean replaces what a database or a page cannot take.
func clean(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.ReplaceAll(s, "\x00", "\uFFFD")
}

// cut is the head of s, at most most bytes of it, ending at a character's edge.
func cut(s string, most int) (head string, lost bool) {
	if len(s) <= most {
		return s, false
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most], true
}

// extra is what a case has beside its fields. Where it is too long the longest members go first, and c
// says which.
func extra(c *assay.Case, members map[string]any) {
	raw, size := map[string]json.RawMessage{}, 2
	for name, v := range members {
		b, err := json.Marshal(v)
		if err != nil || len(b) == 0 || string(b) == "null" || string(b) == "{}" || string(b) == "[]" || string(b) == `""` {
			continue
		}
		raw[name] = b
		size += len(b) + len(name) + 4
	}
	if size > maxExtra {
		longest := slices.SortedFunc(maps.Keys(raw), func(a, b string) int {
			return cmp.Or(len(raw[b])-len(raw[a]), cmp.Compare(a, b))
		})
		for i := 0; size > maxExtra; i++ {
			name := longest[i]
			size -= len(raw[name]) + len(name) + 4
			delete(raw, name)
			c.Cut = append(c.Cut, "extra."+short(oneLine(name), maxName))
		}
	}
	if len(raw) > 0 {
		c.Extra, _ = json.Marshal(raw)
	}
}

// criteria gives findings their names: one that is there already gets a number.
type criteria struct{ taken map[string]bool }

func (n *criteria) name(s string) string {
	if n.taken == nil {
		n.taken = map[string]bool{}
	}
	if s = short(oneLine(s), maxName); s == "" {
		s = "unnamed"
	}
	unique := s
	for i := 2; n.taken[unique]; i++ {
		unique = s + " #" + strconv.Itoa(i)
	}
	n.taken[unique] = true
	return unique
}
