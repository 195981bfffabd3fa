package storetest

import (
	"fmt"

	"assay/internal/assay"
	"assay/internal/store"
)

// answer is a label of ann's on session u/s.
func answer(value string) assay.Label {
	return assay.Label{UserID: "u", SessionID: "s", Criterion: "pass", Value: []byte(value), Rater: "ann", Use: assay.UseMeasure, Probability: 1}
}

// label stores labels and returns what became of them.
func (w *world) label(list ...assay.Label) []store.LabelResult {
	w.Helper()
	results, err := w.Labels().Put(w.ctx, w.project.ID, list, at(2))
	w.ok(err)
	if len(results) != len(list) {
		w.Fatalf("%d results for %d labels", len(results), len(list))
	}
	return results
}

// only is the one label of the project.
func (w *world) only() assay.Label {
	w.Helper()
	list := w.labels()
	if len(list) != 1 {
		w.Fatalf("labels %+v, want one", list)
	}
	return list[0]
}

func testPutLabels(w *world) {
	w.put(session("u", "s", "h"))
	by := func(l assay.Label, rater, version string) assay.Label {
		l.Rater, l.CriterionVersion = rater, version
		return l
	}
	nobody, strange := answer("true"), answer("true")
	nobody.SessionID, strange.ContentHash = "nobody", "another hash"
	noted := answer("false")
	noted.Note, noted.Blind, noted.Decided = "see turn 3", true, true
	given := []assay.Label{
		answer("true"), answer("true"), answer("false"), nobody, by(answer("true"), "bob", ""), strange, by(answer("false"), "ann", "v1"), noted, noted,
	}
	before := fmt.Sprint(given)
	equal(w, "results", w.label(given...), []store.LabelResult{
		store.LabelNew, store.LabelUnchanged, store.LabelReplaced, store.LabelNoSession, store.LabelNew, store.LabelNoSession, store.LabelNew,
		store.LabelReplaced, store.LabelUnchanged,
	})
	equal(w, "labels as given afterwards", fmt.Sprint(given), before)
	list := w.labels()
	equal(w, "labels", len(list), 3)
	want := noted
	want.ID, want.ContentHash, want.Current, want.CreatedAt = list[0].ID, "h", true, at(2)
	equal(w, "the label that was replaced", list[0], want)
	equal(w, "results of none", len(w.label()), 0)
	_, err := w.Labels().Put(w.ctx, 1<<40, []assay.Label{answer("true")}, start)
	w.code(err, assay.CodeNotFound)
}

func testOldLabel(w *world) {
	w.put(session("u", "s", "one"))
	w.label(answer("true"))
	w.put(session("u", "s", "two"))
	if l := w.only(); l.Current || l.ContentHash != "one" {
		w.Errorf("label of the content before: %+v", l)
	}
	old := answer("false")
	old.ContentHash = "one"
	equal(w, "an answer about the older content, and one about the present", w.label(old, answer("true")), []store.LabelResult{store.LabelReplaced, store.LabelNew})
	list := w.labels()
	equal(w, "values", []string{string(list[0].Value), string(list[1].Value)}, []string{"false", "true"})
	equal(w, "current", []bool{list[0].Current, list[1].Current}, []bool{false, true})
	w.put(session("u", "s", "one"))
	list = w.labels()
	equal(w, "current once the older content is back", []bool{list[0].Current, list[1].Current}, []bool{true, false})
}

// choice is how a label's content was chosen.
type choice struct {
	use         assay.LabelUse
	draw        int64
	probability float64
}

func choiceOf(l assay.Label) choice { return choice{l.Use, l.Draw, l.Probability} }

// What is chosen because a judge was disagreed with must not take a content out of the sample that it is in, nor may
// an import put one back that the judge was written with.
func testKeptChoice(w *world) {
	w.put(session("u", "s", "h"))
	run := w.create(w.newRun()).ID
	random := w.drawOf(run, assay.DrawRandom, member(w.head("u", "s"), 0.25)).ID
	verdicts := w.drawOf(run, assay.DrawVerdicts, member(w.head("u", "s"), 0.5)).ID
	queue := w.drawOf(run, assay.DrawQueue, member(w.head("u", "s"), 0)).ID
	with := func(value string, draw int64, use assay.LabelUse, probability float64) assay.Label {
		l := answer(value)
		l.Draw, l.Use, l.Probability = draw, use, probability
		return l
	}
	for i, step := range []struct {
		put  assay.Label
		want choice
	}{
		{with("true", 0, assay.UseMeasure, 1), choice{assay.UseMeasure, 0, 1}},
		{with("false", queue, assay.UseMeasure, 1), choice{assay.UseMeasure, 0, 1}},
		{with("true", random, assay.UseMeasure, 1), choice{assay.UseMeasure, random, 0.25}},
		{with("false", 0, assay.UseMeasure, 1), choice{assay.UseMeasure, random, 0.25}},
		{with("true", queue, assay.UseMeasure, 1), choice{assay.UseMeasure, random, 0.25}},
		{with("false", verdicts, assay.UseMeasure, 1), choice{assay.UseMeasure, verdicts, 0.5}},
		{with("true", 0, assay.UsePrompt, 1), choice{assay.UsePrompt, verdicts, 0.5}},
		{with("false", random, assay.UseMeasure, 1), choice{assay.UsePrompt, verdicts, 0.5}},
	} {
		result := w.label(step.put)
		if i > 0 {
			equal(w, "result", result, []store.LabelResult{store.LabelReplaced})
		}
		l := w.only()
		equal(w, fmt.Sprint("value of step ", i), string(l.Value), string(step.put.Value))
		equal(w, fmt.Sprint("choice of step ", i), choiceOf(l), step.want)
		equal(w, "the same again", w.label(step.put), []store.LabelResult{store.LabelUnchanged})
	}

	// The same for labels that come with sessions.
	n := session("u", "s", "h")
	n.Labels = []assay.Label{answer("true")}
	w.put(n)
	equal(w, "choice after an import", choiceOf(w.only()), choice{assay.UsePrompt, verdicts, 0.5})
	equal(w, "value after an import", string(w.only().Value), "true")

	w.put(session("u", "t", "h"))
	fresh := with("true", w.drawOf(run, assay.DrawQueue, member(w.head("u", "t"), 0)).ID, "", 0)
	fresh.SessionID = "t"
	w.label(fresh)
	equal(w, "choice of a new answer to a disagreement", choiceOf(w.labels()[1]), choice{assay.UseQueue, fresh.Draw, 0})
}

func testLabelQuery(w *world) {
	w.put(session("u", "s", "one"), session("u", "t", "x"), session("v", "s", "x"))
	put := func(user, id, criterion, rater string, use assay.LabelUse) {
		l := answer("true")
		l.UserID, l.SessionID, l.Criterion, l.Rater, l.Use = user, id, criterion, rater, use
		w.label(l)
	}
	put("u", "s", "pass", "ann", assay.UseMeasure)
	put("u", "s", "tone", "bob", assay.UsePrompt)
	put("u", "t", "pass", "bob", assay.UseQueue)
	put("v", "s", "pass", "ann", assay.UsePrompt)
	w.put(session("u", "s", "two"))
	put("u", "s", "pass", "ann", assay.UseMeasure)
	all := w.labels()
	for _, test := range []struct {
		name string
		q    store.LabelQuery
		want []int
	}{
		{"all", store.LabelQuery{}, []int{0, 1, 2, 3, 4}},
		{"criterion", store.LabelQuery{Criterion: "pass"}, []int{0, 2, 3, 4}},
		{"rater", store.LabelQuery{Rater: "bob"}, []int{1, 2}},
		{"use", store.LabelQuery{Use: assay.UsePrompt}, []int{1, 3}},
		{"session, every content", store.LabelQuery{User: "u", Session: "s"}, []int{0, 1, 4}},
		{"all of it", store.LabelQuery{Criterion: "pass", Rater: "ann", Use: assay.UsePrompt, User: "v", Session: "s"}, []int{3}},
		{"draw", store.LabelQuery{Draw: 1 << 40}, nil},
		{"none", store.LabelQuery{Criterion: "pass", Rater: "nobody"}, nil},
	} {
		got := pages(w, func(p store.Page) ([]assay.Label, string, error) {
			return w.Labels().List(w.ctx, w.project.ID, test.q, p)
		})
		var want []assay.Label
		for _, i := range test.want {
			want = append(want, all[i])
		}
		equal(w, test.name, got, want)
	}
}

func testRemoveLabels(w *world) {
	w.put(session("u", "s", "h"), session("u", "t", "h"))
	for _, rater := range []string{"ann", "bob"} {
		for _, id := range []string{"s", "t"} {
			l := answer("true")
			l.SessionID, l.Rater = id, rater
			w.label(l)
		}
	}
	n, err := w.Labels().Mark(w.ctx, w.project.ID, store.LabelQuery{Rater: "ann"}, assay.UsePrompt)
	w.ok(err)
	equal(w, "marked", n, int64(2))
	n, err = w.Labels().Mark(w.ctx, w.project.ID, store.LabelQuery{User: "u", Session: "s"}, assay.UsePrompt)
	w.ok(err)
	equal(w, "marked of those that were not", n, int64(1))
	var uses []assay.LabelUse
	for _, l := range w.labels() {
		uses = append(uses, l.Use)
	}
	equal(w, "uses", uses, []assay.LabelUse{assay.UsePrompt, assay.UsePrompt, assay.UsePrompt, assay.UseMeasure})

	for _, q := range []store.LabelQuery{{}, {Criterion: "pass"}, {Use: assay.UsePrompt}} {
		_, err = w.Labels().Remove(w.ctx, w.project.ID, q)
		w.code(err, assay.CodeInvalid)
	}
	n, err = w.Labels().Remove(w.ctx, w.project.ID, store.LabelQuery{Rater: "ann", User: "u", Session: "t"})
	w.ok(err)
	equal(w, "removed", n, int64(1))
	n, err = w.Labels().Remove(w.ctx, newWorld(w.T, w.Store).project.ID, store.LabelQuery{Rater: "ann"})
	w.ok(err)
	equal(w, "removed of another project", n, int64(0))
	equal(w, "left", len(w.labels()), 3)
}

func testContentLabels(w *world) {
	w.put(session("u", "s", "h"), session("u", "t", "h"))
	first, second := w.head("u", "s").Content, w.head("u", "t").Content
	late, early, other := answer("true"), answer("false"), answer("1")
	late.SessionID, other.Criterion = "t", "score"
	late.Blind, late.Decided, late.Probability, late.CriterionVersion = true, true, 0, "v1"
	w.label(late)
	w.label(early, other)
	early.Rater = "bob"
	w.label(early)
	ids := map[string]int64{}
	for _, l := range w.labels() {
		ids[fmt.Sprint(l.SessionID, l.Rater, l.Criterion)] = l.ID
	}
	var got []store.ContentLabel
	w.ok(w.Labels().Contents(w.ctx, w.project.ID, "pass", func(l *store.ContentLabel) error {
		got = append(got, *l)
		*l = store.ContentLabel{}
		return nil
	}))
	equal(w, "labels", got, []store.ContentLabel{
		{ID: ids["sannpass"], Content: first, Value: "false", Rater: "ann", Use: assay.UseMeasure, Probability: 1},
		{ID: ids["sbobpass"], Content: first, Value: "false", Rater: "bob", Use: assay.UseMeasure, Probability: 1},
		{ID: ids["tannpass"], Content: second, Version: "v1", Value: "true", Rater: "ann", Blind: true, Decided: true, Use: assay.UseMeasure},
	})
	sentinel, n := fmt.Errorf("enough"), 0
	equal(w, "error", w.Labels().Contents(w.ctx, w.project.ID, "pass", func(*store.ContentLabel) error { n++; return sentinel }), sentinel)
	equal(w, "calls", n, 1)
}

func testForeignLabels(w *world) {
	w.put(session("u", "s", "h"))
	draw := w.drawOf(w.create(w.newRun()).ID, assay.DrawRandom, member(w.head("u", "s"), 1)).ID
	other := newWorld(w.T, w.Store)
	equal(w, "a label on another project's session", other.label(answer("true")), []store.LabelResult{store.LabelNoSession})
	_, err := w.Labels().Draw(w.ctx, other.project.ID, draw)
	w.code(err, assay.CodeNotFound)
	_, _, err = w.Labels().Members(w.ctx, other.project.ID, draw, false, "", store.Page{})
	w.code(err, assay.CodeNotFound)
	_, err = w.Labels().CreateDraw(w.ctx, 1<<40, assay.Draw{}, nil, start)
	w.code(err, assay.CodeNotFound)
	other.put(session("u", "s", "h"))
	l := answer("true")
	l.Draw = draw
	equal(w, "a label of another project's draw", other.label(l), []store.LabelResult{store.LabelNotDrawn})
	list, _, err := w.Labels().Draws(w.ctx, other.project.ID, store.Page{})
	w.ok(err)
	equal(w, "draws of another project", len(list), 0)
}
