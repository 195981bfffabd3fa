package storetest

import (
	"encoding/json"
	"strings"
	"testing"

	"assay/internal/assay"
	"assay/internal/store"
)

func testTexts(t *testing.T, open opener) {
	s := open(t)
	each(t, s, []namedTest{
		{"hostile texts", testHostile},
		{"NUL and invalid UTF-8 are replaced, everywhere", testReplaced},
		{"5 MB", testLong},
	})
}

// hostile are texts that must come back as they are.
var hostile = []string{
	"'; DROP TABLE runs; --", `"quoted" \ back\\slash`, "per%cent _ under ? $1 :name @p", "line\nbreak\ttab\r\x1b[31m\x7f\x01", "emoji 👩‍👩‍👧 \u202eright\u202c \ufeffbom \ufffd",
	"null", "{}", " spaces ", strings.Repeat("long ", 100),
}

func testHostile(w *world) {
	for i, text := range hostile {
		n := session(text, text, text)
		n.Head.Arm, n.Head.Case, n.Head.SourceURL, n.Head.AgentVersion, n.Head.Source = text, text, text, text, text
		value, err := json.Marshal(text)
		w.ok(err)
		n.Head.Metadata = map[string]json.RawMessage{text: value}
		n.Labels = []assay.Label{{Criterion: text, Value: value, Rater: text, Probability: 1}}
		w.put(n)
		h := w.head(text, text)
		want := n.Head
		want.Key, want.Content, want.Version, want.ArrivedAt = h.Key, h.Content, 1, start
		equal(w, "head", h, want)

		run := w.newRun()
		run.By, run.Sentence, run.Spec.Seed, run.Spec.Frame.Filter, run.Spec.Judges[0].Name, run.Keys = text, text, text, text, text, []string{text}
		run.Idempotency = &store.Idempotency{Route: text, Key: text, BodyHash: assay.Hash(text)}
		f := w.grading(run, []assay.Head{h})
		w.open(f, 1)
		o := graded(opened(f, 1, 1), true)
		o.Attempt.Model, o.Attempt.Fingerprint, o.Attempt.Error, o.Attempt.Raw = text, text, text, text
		o.Answers[0].Unit = text
		o.Answers[0].Findings = []assay.Finding{{Criterion: text, Value: value, Applies: true, Reason: text, Evidence: []assay.Evidence{{Quote: text}}}}
		w.commit(f, store.Batch{Done: []store.Outcome{o}})
		equal(w, "attempt", w.attempts(f.Run, 1), []assay.Attempt{o.Attempt})
		verdict := w.verdictsOf(f.Run)[0]
		equal(w, "answer", verdict.Answer, o.Answers[0])
		equal(w, "model and judge", []string{verdict.Model, verdict.Judge}, []string{text, text})
		_, replayed, err := w.Runs().Create(w.ctx, run)
		w.ok(err)
		equal(w, "replayed", replayed, true)
		equal(w, "spec", w.get(f.Run).Spec, run.Spec)
		_ = i
	}
	equal(w, "labels", len(w.labels()), len(hostile))
}

func testReplaced(w *world) {
	const dirty, cleaned = "a\x00b\xff\xc3(\xed\xa0\x80z", "a\uFFFDb\uFFFD(\uFFFDz" // a run of bad bytes becomes one
	n := session(dirty, dirty, "h")
	n.Head.Arm, n.Head.Case = dirty, dirty
	w.put(n)
	equal(w, "put again", w.put(n), []store.PutResult{store.PutUnchanged})
	h := w.head(dirty, dirty)
	equal(w, "head", []string{h.UserID, h.SessionID, h.Arm, h.Case}, []string{cleaned, cleaned, cleaned, cleaned})
	equal(w, "found under the clean name", w.head(cleaned, cleaned).Key, h.Key)
	equal(w, "scan", w.scan(store.SessionQuery{}), []string{assay.SessionName(cleaned, cleaned)})

	f := w.grading(w.newRun(), []assay.Head{h})
	w.open(f, 1)
	o := graded(opened(f, 1, 1), true)
	o.Attempt.Raw, o.Attempt.Error = dirty, dirty
	o.Answers[0].Findings[0].Reason = dirty
	o.Answers[0].Findings[0].Value = json.RawMessage("\"" + dirty + "\"")
	o.Answers[0].Findings[0].Evidence = []assay.Evidence{{Quote: dirty}}
	w.commit(f, store.Batch{Done: []store.Outcome{o}})
	a := w.attempts(f.Run, 1)[0]
	equal(w, "attempt", []string{a.Raw, a.Error}, []string{cleaned, cleaned})
	finding := w.verdictsOf(f.Run)[0].Findings[0]
	equal(w, "finding", []string{finding.Reason, string(finding.Value)}, []string{cleaned, "\"" + cleaned + "\""})
	if q := finding.Evidence[0].Quote; !strings.HasPrefix(q, "a") || !strings.HasSuffix(q, "z") {
		w.Errorf("quote %q", q)
	}
	set, err := w.Sets().Create(w.ctx, w.project.ID, dirty, start)
	w.ok(err)
	got, err := w.Sets().Get(w.ctx, w.project.ID, dirty)
	w.ok(err)
	equal(w, "set", got, set)
	run, err := w.Runs().Change(w.ctx, f.Run, store.Change{From: active, To: assay.RunFailed, Reason: assay.ReasonPlanFailed, Sentence: dirty, Now: at(9)})
	w.ok(err)
	equal(w, "sentence", run.Sentence, cleaned)
}

func testLong(w *world) {
	long := strings.Repeat("0123456789abcdef", 5<<20/16)
	n := session("u", "s", "h")
	n.Body = []byte(long)
	n.Head.Metadata = map[string]json.RawMessage{"long": json.RawMessage(`"` + long + `"`)}
	w.put(n)
	h := w.head("u", "s")
	equal(w, "metadata", len(h.Metadata["long"]), len(long)+2)
	body, _, err := w.Bodies().Get(w.ctx, h.Content)
	w.ok(err)
	if string(body) != long {
		w.Error("a body of 5 MB changed")
	}
	f := w.grading(w.newRun(), []assay.Head{h})
	w.open(f, 1)
	o := graded(opened(f, 1, 1), true)
	o.Attempt.Raw, o.Attempt.Error = long, long
	o.Answers[0].Findings[0].Reason = long
	o.Answers[0].Findings[0].Evidence = []assay.Evidence{{Quote: long}}
	w.commit(f, store.Batch{Done: []store.Outcome{o}})
	if a := w.attempts(f.Run, 1)[0]; a.Raw != long || a.Error != long {
		w.Error("a raw answer of 5 MB changed")
	}
	if got := w.verdictsOf(f.Run)[0].Findings[0]; got.Reason != long || got.Evidence[0].Quote != long {
		w.Error("a reason of 5 MB changed")
	}
}
