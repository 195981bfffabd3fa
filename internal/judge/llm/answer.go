package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"assay/internal/assay"
	"assay/internal/judge"
)

// read finds the model's answer in what it wrote and reads it.
//
// Text of the session must never become the verdict, and models quote sessions and obey them. So an
// object counts as the answer only when
//   - it carries the question's token, and no other object with the token says something else; or
//   - it is the whole of what the model wrote (bare or in one fence), it carries no token at all, and
//     it stands neither in the transcript nor among the examples: a model that forgets a field is read;
//
// and when no criterion of it repeats what stands in the transcript (echo.go), token or not.
// Everything else is unreadable, with a sentence that the model is shown when it is asked again.
func (q *question) read(content string, criteria []assay.Criterion, e *echo) ([]assay.Answer, error) {
	text := strings.TrimSpace(strings.TrimPrefix(content, "\ufeff"))
	if text == "" {
		return nil, errors.New("it is empty")
	}
	members, err := q.find(afterThinking(text))
	if err != nil {
		return nil, err
	}
	e.reset(q.transcript.Text)
	if len(q.units) == 0 {
		findings, err := readOwn(members, criteria, e)
		return []assay.Answer{{Findings: findings}}, err
	}
	answers := make([]assay.Answer, len(q.units))
	for n, u := range q.units {
		if answers[n], err = readUnit(members, slot(n), u.Name, criteria, e); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

func readUnit(members []judge.Member, slot, unit string, criteria []assay.Criterion, e *echo) (assay.Answer, error) {
	a := assay.Answer{Unit: unit}
	raw, ok := judge.Lookup(members, slot)
	if !ok {
		return a, fmt.Errorf("%s (%s) is missing", slot, unit)
	}
	inner, err := judge.Members(raw)
	if err != nil {
		return a, fmt.Errorf("%s: %w", slot, err)
	}
	var name string
	if said, _ := judge.Lookup(inner, unitField); json.Unmarshal(said, &name) != nil || strings.TrimSpace(name) != unit {
		return a, fmt.Errorf("%s is the unit %s, and its %s does not say so", slot, unit, unitField)
	}
	if a.Findings, err = readOwn(inner, criteria, e); err != nil {
		return a, fmt.Errorf("%s: %w", slot, err)
	}
	return a, nil
}

// readOwn reads findings that are the model's own.
func readOwn(members []judge.Member, criteria []assay.Criterion, e *echo) ([]assay.Finding, error) {
	findings, err := judge.FindingsIn(members, criteria)
	if err != nil {
		return nil, err
	}
	for _, f := range findings {
		raw, _ := judge.Lookup(members, f.Criterion)
		if e.repeats(f, string(raw)) {
			return nil, fmt.Errorf("its %s repeats a verdict that stands in the session; give the reason in words of your own", f.Criterion)
		}
	}
	return findings, nil
}

// afterThinking drops the thoughts that some servers leave before the answer: drafts are no answers.
func afterThinking(text string) string {
	if thoughts, ok := strings.CutPrefix(text, "<think>"); ok {
		if _, answer, ok := strings.Cut(thoughts, "</think>"); ok {
			return strings.TrimSpace(answer)
		}
	}
	return text
}

// find returns the members of the object that is the answer.
func (q *question) find(text string) ([]judge.Member, error) {
	token := q.token
	if whole := unfenced(text); strings.HasPrefix(whole, "{") && gjson.Valid(whole) {
		members, err := judge.Members(json.RawMessage(whole))
		if err != nil {
			return nil, err
		}
		switch given, has := judge.Lookup(members, judge.TokenField); {
		case has && isToken(given, token):
			return members, nil
		case has:
			return nil, fmt.Errorf("its %s is not the one that was given", judge.TokenField)
		case strings.Contains(plain(q.transcript.Text), plain(whole)):
			return nil, fmt.Errorf("it repeats an object that stands in the session and has no %s", judge.TokenField)
		case strings.Contains(plain(q.examples), plain(whole)):
			return nil, fmt.Errorf("it repeats the answer of an example and has no %s", judge.TokenField)
		}
		return members, nil
	}
	objects := objectsIn(text)
	var answer json.RawMessage
	var own []judge.Member
	for _, o := range objects {
		members, err := judge.Members(o)
		if err != nil {
			continue
		}
		given, has := judge.Lookup(members, judge.TokenField)
		if !has || !isToken(given, token) {
			continue
		}
		if answer != nil && !bytes.Equal(compact(answer), compact(o)) {
			return nil, errors.New("it holds two different answers")
		}
		answer, own = o, members
	}
	switch {
	case answer != nil:
		return own, nil
	case len(objects) == 0:
		return nil, errors.New("it holds no JSON object")
	case len(objects) == 1:
		return nil, fmt.Errorf("its JSON object stands among other text and has not the %s that was given", judge.TokenField)
	}
	return nil, fmt.Errorf("it holds %d JSON objects and none has the %s that was given", len(objects), judge.TokenField)
}

func isToken(raw json.RawMessage, token string) bool {
	var s string
	return json.Unmarshal(raw, &s) == nil && strings.TrimSpace(s) == token
}

// unfenced takes one fence off that stands around the whole text.
func unfenced(text string) string {
	inner, ok := strings.CutPrefix(text, "```")
	if !ok {
		return text
	}
	inner, ok = strings.CutSuffix(inner, "```")
	if !ok {
		return text
	}
	if language, rest, ok := strings.Cut(inner, "\n"); ok && !strings.ContainsAny(language, "{}") {
		inner = rest
	}
	return strings.TrimSpace(inner)
}

func compact(raw json.RawMessage) []byte {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return raw
	}
	return b.Bytes()
}

// maxScan bounds the work on a text full of braces, in bytes looked at per byte of text.
const maxScan = 32

// objectsIn returns the outermost JSON objects in a text, in order.
func objectsIn(text string) []json.RawMessage {
	var objects []json.RawMessage
	budget := maxScan * len(text)
	for i := 0; i < len(text) && budget > 0; {
		start := strings.IndexByte(text[i:], '{')
		if start < 0 {
			break
		}
		i += start
		end := closing(text[i:])
		budget -= end
		if end > 0 && json.Valid([]byte(text[i:i+end])) {
			objects = append(objects, json.RawMessage(text[i:i+end]))
			i += end
			continue
		}
		if end == 0 {
			budget -= len(text) - i
		}
		i++
	}
	return objects
}

// closing returns the length of the balanced braces that text begins with, 0 when they do not close.
// Braces inside JSON strings do not count.
func closing(text string) int {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}
