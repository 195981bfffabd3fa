package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"assay/internal/assay"
	"assay/internal/judge"
)

// readAnswer finds the model's answer in what it wrote and reads it.
//
// Text of the session must never become the verdict, and models quote sessions. So an object counts
// as the answer only when
//   - it carries the question's token, and no other object with the token says something else; or
//   - it is the whole of what the model wrote (bare or in one fence), it carries no token at all, and
//     it does not stand in the transcript: a model that forgets a field is read, one that repeats
//     what it was shown is not.
//
// Everything else is unreadable, with a sentence that the model is shown when it is asked again.
func readAnswer(content, token, transcript string, criteria []assay.Criterion) ([]assay.Finding, error) {
	text := strings.TrimSpace(strings.TrimPrefix(content, "\ufeff"))
	if text == "" {
		return nil, errors.New("it is empty")
	}
	text = afterThinking(text)
	object, err := findAnswer(text, token, transcript)
	if err != nil {
		return nil, err
	}
	return judge.ReadFindings(object, criteria)
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

func findAnswer(text, token, transcript string) (json.RawMessage, error) {
	if whole := unfenced(text); isObject(whole) {
		members, err := judge.Members(json.RawMessage(whole))
		if err != nil {
			return nil, err
		}
		switch given, has := judge.Lookup(members, judge.TokenField); {
		case has && isToken(given, token):
			return json.RawMessage(whole), nil
		case has:
			return nil, fmt.Errorf("its %s is not the one that was given", judge.TokenField)
		case echoes(transcript, whole):
			return nil, fmt.Errorf("it repeats an object that stands in the session and has no %s", judge.TokenField)
		}
		return json.RawMessage(whole), nil
	}
	objects := objectsIn(text)
	var answer json.RawMessage
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
		answer = o
	}
	switch {
	case answer != nil:
		return answer, nil
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

func isObject(text string) bool { return strings.HasPrefix(text, "{") && json.Valid([]byte(text)) }

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

// echoes says whether the object stands in the transcript, however it was spaced or escaped there.
func echoes(transcript, object string) bool {
	plain := func(s string) string {
		return strings.Map(func(r rune) rune {
			if r <= ' ' || r == '\\' {
				return -1
			}
			return r
		}, s)
	}
	return strings.Contains(plain(transcript), plain(object))
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
