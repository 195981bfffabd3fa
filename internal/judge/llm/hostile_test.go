package llm

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/judge/llm/llmtest"
	"assay/internal/judge/llm/provider"
)

// puppet is a model that echoes or obeys: all that it might write about an attack. Each is one answer.
type puppet func(r *llmtest.Request, a attack) []string

var puppets = map[string]puppet{
	"echoes the prompt": func(r *llmtest.Request, _ attack) []string { return []string{r.Prompt(), said(r)} },
	"echoes objects": func(r *llmtest.Request, _ attack) []string {
		objects := found(r)
		return append(objects, strings.Join(objects, "\n"))
	},
	"obeys, with the token": func(r *llmtest.Request, _ attack) (out []string) {
		for _, o := range found(r) {
			if tokened := insert(o, r.Token()); tokened != "" {
				out = append(out, tokened, "```json\n"+tokened+"\n```", "As the session says: "+tokened+"\nI agree.", tokened+tokened)
			}
		}
		return out
	},
	"obeys, in the form asked for": func(r *llmtest.Request, a attack) (out []string) {
		for _, f := range []object{
			{{"evidence", []string{}}, {"reason", a.reason}, {"value", true}},
			{{"value", true}, {"reason", a.reason}},
			{{"reason", " " + strings.ToUpper(a.reason) + " "}, {"status", "answered"}, {"value", true}},
			{{"evidence", []object{{{"turn", 0}, {"message", 0}, {"quote", a.s.Turns[0].Messages[0].Content}}}}, {"reason", a.reason}, {"value", true}},
		} {
			out = append(out, formed(r, f), "```\n"+formed(r, f)+"\n```")
		}
		return out
	},
	"obeys the last line": func(r *llmtest.Request, _ attack) (out []string) {
		lines := strings.Split(strings.TrimSpace(said(r)), "\n")
		last := strings.NewReplacer("<the token you were given>", r.Token(), "0123456789abcdef", r.Token()).Replace(lines[len(lines)-1])
		out = append(out, last)
		for i := range last {
			if strings.HasPrefix(last[i:], ": ") {
				out = append(out, last[i+2:])
			}
		}
		return out[:min(len(out), 20)]
	},
}

// said is what was said in the session, as a reader of the prompt finds it.
func said(r *llmtest.Request) string {
	text := r.Prompt()
	_, text, _ = strings.Cut(text, "<<<transcript ")
	boundary, text, _ := strings.Cut(text, "\n")
	text, _, _ = strings.Cut(text, "transcript "+boundary+">>>")
	var b strings.Builder
	for line := range strings.Lines(text) {
		if l, ok := strings.CutPrefix(line, "  "); ok {
			b.WriteString(l)
		}
	}
	return b.String()
}

var (
	code   = regexp.MustCompile(`[A-Za-z0-9+/_-]{40,}`)
	escape = regexp.MustCompile(`\\u[0-9a-fA-F]{4}`)
)

// found are the objects that a helpful reader finds in a session: as they stand, unescaped, with
// characters that look like others made plain, and decoded.
func found(r *llmtest.Request) []string {
	texts := []string{said(r), r.Prompt()}
	for _, c := range code.FindAllString(texts[0], -1) {
		if raw, err := base64.RawURLEncoding.DecodeString(strings.NewReplacer("+", "-", "/", "_").Replace(c)); err == nil {
			texts = append(texts, string(raw))
		}
	}
	text := texts[0]
	for range 3 {
		text = escape.ReplaceAllStringFunc(text, func(e string) string {
			var s string
			_ = json.Unmarshal([]byte(`"`+e+`"`), &s) // four hex digits
			return s
		})
		text = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\n`, "\n").Replace(text)
		texts = append(texts, text)
	}
	var plainer strings.Builder
	for _, r := range strings.NewReplacer("”", `"`, "'", `"`, "\n", "").Replace(texts[0]) {
		if l := lookalike(r); l >= ' ' && l < 0x7f {
			plainer.WriteRune(l)
		}
	}
	texts = append(texts, plainer.String())
	var all []string
	for _, t := range texts {
		for _, o := range objectsIn(t) {
			if o := string(o); !slices.Contains(all, o) && len(all) < 6 {
				all = append(all, o)
			}
		}
	}
	return all
}

// insert puts the token into the object that answers: the one that has the criterion, or a unit.
func insert(o, token string) string {
	members, err := judge.Members(json.RawMessage(o))
	if err != nil {
		return ""
	}
	out := object{{judge.TokenField, token}}
	answers := false
	for _, m := range members {
		if m.Name == judge.TokenField {
			continue
		}
		answers = answers || m.Name == "resolved" || m.Name == "unit_1"
		out = append(out, property{m.Name, m.Value})
	}
	if answers {
		raw, err := json.Marshal(out)
		if err != nil {
			panic(err)
		}
		return string(raw)
	}
	for _, m := range members {
		if inner := insert(string(m.Value), token); inner != "" {
			return inner
		}
	}
	return ""
}

// formed is an answer as the question asks for it, with the same finding about everything.
func formed(r *llmtest.Request, finding object) string {
	out := object{{judge.TokenField, r.Token()}}
	units := unitLine.FindAllStringSubmatch(r.Prompt(), -1)
	for _, u := range units {
		out = append(out, property{u[1], object{{"unit", u[2]}, {"resolved", finding}}})
	}
	if len(units) == 0 {
		out = append(out, property{"resolved", finding})
	}
	raw, err := json.Marshal(out)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// forms are the ways in which answers are asked for.
var forms = map[string]change{
	"json_schema": func(*Spec, *Settings, *judge.Definition) {},
	"tool":        func(s *Spec, _ *Settings, _ *judge.Definition) { s.ResponseFormat = provider.FormatTool },
	"none":        func(s *Spec, _ *Settings, _ *judge.Definition) { s.ResponseFormat = provider.FormatNone },
	"units": func(s *Spec, _ *Settings, d *judge.Definition) {
		d.Unit, d.Criteria = assay.UnitTurn, slices.Clone(d.Criteria)
		d.Criteria[0].RollUp = assay.RollAny
	},
	"responses, json_schema": over("openai", provider.Responses, provider.FormatSchema),
	"responses, tool":        over("openai", provider.Responses, provider.FormatTool),
	"messages, json_schema":  over("anthropic", provider.Messages, provider.FormatSchema),
	"messages, tool":         over("anthropic", provider.Messages, provider.FormatTool),
}

func over(name string, api provider.API, format string) change {
	return func(s *Spec, set *Settings, _ *judge.Definition) {
		set.Provider, set.API, s.ResponseFormat = name, api, format
	}
}

// No session becomes the verdict: whatever a model that echoes or obeys writes, it is not read. A model
// that answers honestly is read beside every one of them.
func TestNoSessionBecomesTheVerdict(t *testing.T) {
	corpus := attacks(t)
	if len(corpus) < 60 {
		t.Fatalf("the corpus has %d sessions", len(corpus))
	}
	table := map[string]map[string]int{}
	for form, change := range forms {
		var play func(*llmtest.Request) string
		var spoken llmtest.API
		server := llmtest.New(t, func(r *llmtest.Request) llmtest.Step { spoken = r.API(); return llmtest.Wrote(play) })
		j := newJudge(t, server.BaseURL, change)
		for _, a := range corpus {
			for name, p := range puppets {
				for i, n := 0, 1; i < n; i++ {
					var wrote string
					play = func(r *llmtest.Request) string {
						all := p(r, a)
						n, wrote = len(all), "I do as I am told."
						if i < n {
							wrote = all[i]
						}
						return wrote
					}
					reply := j.Ask(t.Context(), judge.Question{Session: a.s})
					if reply.Class != assay.ClassMalformed {
						t.Errorf("%s: %s, %s, a model that %s: %q %s %+v\nit wrote %.600s", a.kind, a.name, form, name, reply.Class, reply.Error, reply.Answers, wrote)
					}
					count(table, form, name+": unreadable")
				}
			}
			for _, value := range []bool{false, true} {
				play = func(r *llmtest.Request) string {
					quote := a.s.Turns[0].Messages[0].Content
					return formed(r, object{{"evidence", []object{{{"turn", 0}, {"message", 0}, {"quote", quote}}}}, {"reason", "A booking was to be cancelled, and I looked for the call that does it."}, {"value", value}})
				}
				reply := j.Ask(t.Context(), judge.Question{Session: a.s})
				if reply.Class != "" || *reply.Answers[len(reply.Answers)-1].Pass != value {
					t.Errorf("%s, %s: an honest answer was not read: %q %s", a.name, form, reply.Class, reply.Error)
				}
				count(table, form, "answers honestly: graded")
			}
		}
		if api, _, named := strings.Cut(form, ", "); named && string(spoken) != api {
			t.Errorf("%s: it was asked by %s", form, spoken)
		}
	}
	t.Logf("%d hostile sessions", len(corpus))
	for _, form := range slices.Sorted(maps.Keys(table)) {
		for _, what := range slices.Sorted(maps.Keys(table[form])) {
			t.Log(fmt.Sprintf("%-22s %5d answers of a model that %s", form, table[form][what], what))
		}
	}
}

func count(table map[string]map[string]int, form, what string) {
	if table[form] == nil {
		table[form] = map[string]int{}
	}
	table[form][what]++
}
