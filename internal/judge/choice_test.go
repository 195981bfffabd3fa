package judge

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"assay/internal/assay"
)

// choiceRule finds the one choice that a free text decides for, where a model was asked for prose and not
// for JSON. It is safe for concurrent use.
type choiceRule struct {
	choices []string
	decides *regexp.Regexp
}

// choicePlace stands for a choice in a phrase.
const choicePlace = "{}"

// newChoiceRule makes a rule for choices by their names. A phrase is words that decide for the choice
// whose name stands in place of {} in them: "{} is better", "I prefer {}". White space and case do not
// count.
func newChoiceRule(choices []string, phrases ...string) (*choiceRule, error) {
	if len(choices) < 2 {
		return nil, assay.Errorf(assay.CodeInvalid, "a choice needs at least two names").WithHint("name what may be chosen")
	}
	for i, c := range choices {
		if folded(c) == "" || slices.ContainsFunc(choices[:i], func(o string) bool { return folded(o) == folded(c) }) {
			return nil, assay.Errorf(assay.CodeInvalid, "the choice %q is empty or there twice", c).WithHint("give every choice a name of its own")
		}
	}
	names := slices.Clone(choices)
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) }) // a name that begins like another goes first
	for i := range names {
		names[i] = edged(names[i])
	}
	var patterns []string
	for _, p := range phrases {
		before, after, found := strings.Cut(p, choicePlace)
		if !found || strings.Contains(after, choicePlace) {
			return nil, assay.Errorf(assay.CodeInvalid, "the phrase %q has not one place for a choice", p).WithHint("write it with one {}, for instance \"{} is better\"")
		}
		patterns = append(patterns, edged(before)+gap(before, strings.HasSuffix)+"("+strings.Join(names, "|")+")"+gap(after, strings.HasPrefix)+edged(after))
	}
	r := &choiceRule{choices: slices.Clone(choices)}
	if len(patterns) > 0 {
		r.decides = regexp.MustCompile("(?i)" + strings.Join(patterns, "|")) // quoted words only
	}
	return r, nil
}

// edged is a pattern for words between any white space that begin and end where words do.
func edged(s string) string {
	fields := strings.Fields(s)
	if len(fields) == 0 {
		return ""
	}
	for i := range fields {
		fields[i] = regexp.QuoteMeta(fields[i])
	}
	p := strings.Join(fields, `\s+`)
	trimmed := strings.TrimSpace(s)
	if wordly(trimmed[0]) {
		p = `\b` + p
	}
	if wordly(trimmed[len(trimmed)-1]) {
		p += `\b`
	}
	return p
}

// gap is what stands between a phrase's words and its choice, at the side where has looks.
func gap(words string, has func(s, part string) bool) string {
	if has(words, " ") {
		return `\s*`
	}
	return ""
}

// wordly says whether c is of a word as \b understands it.
func wordly(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// read returns the index of the choice that text decides for: the one whose name is all that it says, or
// the only one for which any phrase stands in it. Where it decides for none or for several, the error
// says so: which of them was meant cannot be known.
func (r *choiceRule) read(text string) (int, error) {
	if folded(text) == "" {
		return -1, errors.New("it is empty")
	}
	for i, c := range r.choices {
		if folded(text) == folded(c) {
			return i, nil
		}
	}
	chosen := -1
	if r.decides != nil {
		for _, m := range r.decides.FindAllStringSubmatch(text, -1) {
			name := strings.Join(m[1:], "") // only one alternative met
			i := slices.IndexFunc(r.choices, func(c string) bool { return folded(c) == folded(name) })
			if chosen >= 0 && i != chosen {
				return -1, fmt.Errorf("it decides for %s and for %s", r.choices[chosen], r.choices[i])
			}
			chosen = i
		}
	}
	if chosen < 0 {
		return -1, errors.New("it decides for none of " + strings.Join(r.choices, ", "))
	}
	return chosen, nil
}

// folded is a text without case, white space at its ends, and the marks that models put around a name.
func folded(s string) string {
	return strings.ToLower(strings.Join(strings.Fields(strings.Trim(s, " \t\r\n.:;,!*_\"'`#")), " "))
}
