package api_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/store"
)

func newLabel(session, value string) api.NewLabel {
	return api.NewLabel{Session: session, Value: json.RawMessage(value), Rater: "ann"}
}

// put stores labels in the project default and returns what became of each.
func (w *world) put(t *testing.T, n api.NewLabels) (results []string, reasons []string) {
	t.Helper()
	out, err := w.tcp.PutLabels(t.Context(), "default", n)
	if err != nil {
		t.Fatal(err)
	}
	sums := map[api.LabelResult]int64{}
	for _, r := range out.Results {
		results, reasons = append(results, string(r.Result)), append(reasons, r.Reason)
		sums[r.Result]++
		if (r.Result == api.LabelRefused) != (r.Reason != "") {
			t.Errorf("%s with the reason %q", r.Result, r.Reason)
		}
	}
	if sums[api.LabelNew] != out.New || sums[api.LabelReplaced] != out.Replaced || sums[api.LabelUnchanged] != out.Unchanged || sums[api.LabelRefused] != out.Refused {
		t.Errorf("sums %+v of %v", out, results)
	}
	return results, reasons
}

func (w *world) labels(t *testing.T, q api.LabelQuery) []assay.Label {
	t.Helper()
	page, err := w.tcp.Labels(t.Context(), "default", q, store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	return page.Items
}

func TestLabels(t *testing.T) {
	w := stocked(t, 3)
	const first, second = "ann%2Fb/s0000", "ann%2Fb/s0001"
	one := 1.0
	noted := newLabel(second, `"fail"`)
	noted.Note, noted.Blind, noted.Probability = "turn 3", true, &one
	results, _ := w.put(t, api.NewLabels{Labels: []api.NewLabel{newLabel(first, `"pass"`), newLabel("ann%2Fb/none", "true"), newLabel("nobody", "true"),
		newLabel(first, `"maybe"`), newLabel(first, "true"), newLabel(first, "false"), noted}})
	if want := []string{"new", "refused", "refused", "refused", "unchanged", "replaced", "new"}; !reflect.DeepEqual(results, want) {
		t.Fatalf("results %v, want %v", results, want)
	}
	list := w.labels(t, api.LabelQuery{})
	if len(list) != 2 || string(list[0].Value) != "false" || list[0].Probability != 0 || list[0].Criterion != assay.CriterionPass || list[0].Use != assay.UseMeasure {
		t.Fatalf("labels %+v", list)
	}
	if l := list[1]; !l.Blind || l.Note != "turn 3" || l.Probability != 1 || !l.Current {
		t.Errorf("label %+v", l)
	}
	if got := w.labels(t, api.LabelQuery{Session: second, Rater: "ann"}); len(got) != 1 || got[0].ID != list[1].ID {
		t.Errorf("labels of a session %+v", got)
	}

	marked, err := w.tcp.MarkLabels(t.Context(), "default", api.LabelMark{Labels: api.LabelQuery{Session: first}, Use: assay.UsePrompt})
	if err != nil || marked.Labels != 1 || len(w.labels(t, api.LabelQuery{Use: assay.UsePrompt})) != 1 {
		t.Errorf("marked %+v, %v", marked, err)
	}
	_, err = w.tcp.MarkLabels(t.Context(), "default", api.LabelMark{Use: assay.UsePrompt})
	holds(t, err, assay.CodeInvalid)
	_, err = w.tcp.MarkLabels(t.Context(), "default", api.LabelMark{Labels: api.LabelQuery{Rater: "ann"}, Use: "training"})
	holds(t, err, assay.CodeInvalid)
	_, err = w.tcp.RemoveLabels(t.Context(), "default", api.LabelQuery{Criterion: "pass"})
	holds(t, err, assay.CodeInvalid)
	_, err = w.tcp.RemoveLabels(t.Context(), "default", api.LabelQuery{Session: "nobody"})
	holds(t, err, assay.CodeInvalid)
	removed, err := w.tcp.RemoveLabels(t.Context(), "default", api.LabelQuery{Rater: "ann", Use: assay.UsePrompt})
	if err != nil || removed.Labels != 1 || len(w.labels(t, api.LabelQuery{})) != 1 {
		t.Errorf("removed %+v, %v", removed, err)
	}
}

// A label of a criterion answers the wording of the judge that is named, or of the judge version that the draw is of.
func TestLabelsKnowTheWordingThatTheyAnswer(t *testing.T) {
	w := stocked(t, 2)
	const session = "ann%2Fb/s0000"
	criterion := assay.Criterion{Name: "done", Type: assay.Boolean}
	with := func(criterion, version, value string) api.NewLabel {
		l := newLabel(session, value)
		l.Criterion, l.CriterionVersion, l.Rater = criterion, version, "r"+criterion+version+value
		return l
	}
	results, reasons := w.put(t, api.NewLabels{Judge: "good", Labels: []api.NewLabel{with("done", "", `"yes"`), with("done", "", `"kind"`), with("other", "", "1"),
		with("done", "an older one", `"kind"`), with("pass", "", "true")}})
	if want := []string{"new", "refused", "refused", "new", "new"}; !reflect.DeepEqual(results, want) {
		t.Fatalf("results %v, want %v: %q", results, want, reasons)
	}
	results, _ = w.put(t, api.NewLabels{Labels: []api.NewLabel{with("tone", "", `"kind"`)}})
	if want := []string{"new"}; !reflect.DeepEqual(results, want) {
		t.Fatalf("results without a judge %v", results)
	}
	var got [][2]string
	for _, l := range w.labels(t, api.LabelQuery{}) {
		got = append(got, [2]string{l.CriterionVersion, string(l.Value)})
	}
	if want := [][2]string{{criterion.Version(), "true"}, {"an older one", `"kind"`}, {"", "true"}, {"", `"kind"`}}; !reflect.DeepEqual(got, want) {
		t.Errorf("labels %v, want %v", got, want)
	}
	_, err := w.tcp.PutLabels(t.Context(), "default", api.NewLabels{Judge: "nobody", Labels: []api.NewLabel{newLabel(session, "true")}})
	holds(t, err, assay.CodeNotFound)

	draw := w.draw(t, session)
	l := newLabel(session, `"no"`)
	l.Draw, l.Rater = draw.ID, "drawn"
	outside := newLabel("ann%2Fb/s0001", "true")
	outside.Draw = draw.ID
	results, _ = w.put(t, api.NewLabels{Labels: []api.NewLabel{l, outside}})
	if want := []string{"new", "refused"}; !reflect.DeepEqual(results, want) {
		t.Fatalf("results of a draw %v, want %v", results, want)
	}
	of := w.labels(t, api.LabelQuery{Draw: draw.ID})
	if len(of) != 1 || of[0].Criterion != "done" || of[0].CriterionVersion != criterion.Version() || of[0].Probability != 0.25 || string(of[0].Value) != "false" {
		t.Errorf("labels of the draw: %+v", of)
	}
	l.Draw = 1 << 40
	_, err = w.tcp.PutLabels(t.Context(), "default", api.NewLabels{Labels: []api.NewLabel{l}})
	holds(t, err, assay.CodeNotFound)
}

// draw makes a draw of one session about the criterion done, as if it had been drawn with probability 1/4.
func (w *world) draw(t *testing.T, session string) assay.Draw {
	t.Helper()
	ctx := t.Context()
	p, err := w.store.Projects().Get(ctx, "default")
	if err != nil {
		t.Fatal(err)
	}
	user, id, err := assay.ParseSessionName(session)
	if err != nil {
		t.Fatal(err)
	}
	head, err := w.store.Sessions().Get(ctx, p.ID, user, id)
	if err != nil {
		t.Fatal(err)
	}
	judge, _, err := w.store.Judges().Get(ctx, p.ID, "good")
	if err != nil {
		t.Fatal(err)
	}
	run, _, err := w.store.Runs().Create(ctx, store.NewRun{Project: p.ID, Kind: assay.RunGrade, Concurrency: 1, AsOf: now(), Now: now(),
		Spec: assay.GradeSpec{Judges: []assay.RunJudge{{Name: "good", Version: judge.Version}}, Seed: "s", Repeats: 1, Settings: p.Settings}})
	if err != nil {
		t.Fatal(err)
	}
	d, err := w.store.Labels().CreateDraw(ctx, p.ID, assay.Draw{Run: run.ID, Judge: "good", Version: judge.Version, Criterion: "done", Method: assay.DrawRandom, Seed: "s", Frame: 4, By: "me"},
		[]assay.DrawMember{{Content: head.Content, Stratum: assay.Stratum{Day: head.Day, Arm: head.Arm}, Probability: 0.25}}, now())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDraws(t *testing.T) {
	w := stocked(t, 2)
	const session = "ann%2Fb/s0000"
	d := w.draw(t, session)
	ctx := t.Context()
	got, err := w.tcp.Draw(ctx, "default", d.ID)
	if err != nil || !reflect.DeepEqual(got, d) {
		t.Errorf("draw %+v, %v; want %+v", got, err, d)
	}
	page, err := w.tcp.Draws(ctx, "default", store.Page{})
	if err != nil || len(page.Items) != 1 || page.Items[0].ID != d.ID {
		t.Errorf("draws %+v, %v", page, err)
	}
	open := func(rater string) int {
		members, err := w.tcp.DrawMembers(ctx, "default", d.ID, true, rater, store.Page{})
		if err != nil {
			t.Fatal(err)
		}
		return len(members.Items)
	}
	if n := open(""); n != 1 {
		t.Errorf("%d open members before it is labelled", n)
	}
	l := newLabel(session, "true")
	l.Draw = d.ID
	w.put(t, api.NewLabels{Labels: []api.NewLabel{l}})
	if all, anns, bobs := open(""), open("ann"), open("bob"); all != 0 || anns != 0 || bobs != 1 {
		t.Errorf("open members after it is labelled: %d, of ann %d, of bob %d", all, anns, bobs)
	}
	_, err = w.tcp.Draw(ctx, "default", d.ID+1)
	holds(t, err, assay.CodeNotFound)
	_, err = w.tcp.DrawMembers(ctx, "default", d.ID+1, false, "", store.Page{})
	holds(t, err, assay.CodeNotFound)
	_, err = w.tcp.CreateDraw(ctx, "default", api.NewDraw{Run: d.Run, Method: "all"})
	holds(t, err, assay.CodeInvalid)
	if _, err := w.socket.CreateProject(ctx, "another", nil); err != nil {
		t.Fatal(err)
	}
	_, err = w.tcp.CreateDraw(ctx, "another", api.NewDraw{Run: d.Run})
	holds(t, err, assay.CodeNotFound)
	_, err = w.tcp.CheckJudge(ctx, "another", "good", api.CheckQuery{Run: d.Run.String()})
	holds(t, err, assay.CodeNotFound)
	_, err = w.tcp.CheckJudge(ctx, "default", "good", api.CheckQuery{From: "3"})
	holds(t, err, assay.CodeInvalid)
}

// From a run to a check: what was drawn is labelled, and the judge is held against it.
func TestCheck(t *testing.T) {
	w := stocked(t, 24)
	w.judge.open()
	ctx := t.Context()
	g, err := w.tcp.Grade(ctx, "default", good(), "")
	if err != nil {
		t.Fatal(err)
	}
	ended(t, w.tcp, g.ID)
	d, err := w.tcp.CreateDraw(ctx, "default", api.NewDraw{Run: g.ID, N: 12, By: "me"})
	if err != nil || d.Members != 12 || d.Frame != 24 || d.Judge != "good" || d.Criterion != assay.CriterionPass || d.Method != assay.DrawRandom {
		t.Fatalf("draw %+v, %v", d, err)
	}
	members, err := w.tcp.DrawMembers(ctx, "default", d.ID, false, "", store.Page{})
	if err != nil {
		t.Fatal(err)
	}
	n := api.NewLabels{}
	for i, m := range members.Items {
		l := newLabel(assay.SessionName(m.UserID, m.SessionID), []string{"true", "false"}[min(1, i/10)])
		l.Draw = d.ID
		n.Labels = append(n.Labels, l)
		if m.Probability != 0.5 {
			t.Errorf("member %+v, want the probability 1/2", m)
		}
	}
	w.put(t, n)
	c, err := w.tcp.CheckJudge(ctx, "default", "good", api.CheckQuery{})
	if err != nil || c.Run != g.ID || c.Labels.Used != 12 || c.Confusion == nil || c.Confusion.TP != 10 || c.Confusion.FP != 2 || c.Disputed != 2 {
		t.Fatalf("check %+v, %v", c, err)
	}
	if bobs, err := w.tcp.CheckJudge(ctx, "default", "good", api.CheckQuery{Run: g.ID.String(), Rater: "bob"}); err != nil || bobs.Labels.Used != 0 {
		t.Errorf("check by bob's labels %+v, %v", bobs.Labels, err)
	}
	first, err := w.tcp.Disagreements(ctx, "default", "good", api.CheckQuery{Run: g.ID.String()}, store.Page{Limit: 1})
	if err != nil || len(first.Items) != 1 || first.Next == "" {
		t.Fatalf("disagreements %+v, %v", first, err)
	}
	second, err := w.tcp.Disagreements(ctx, "default", "good", api.CheckQuery{Run: g.ID.String()}, store.Page{Limit: 1, Cursor: first.Next})
	if err != nil || len(second.Items) != 1 || second.Next != "" || second.Items[0].Session == first.Items[0].Session {
		t.Errorf("disagreements %+v, %v", second, err)
	}
	queue, err := w.tcp.CreateDraw(ctx, "default", api.NewDraw{Run: g.ID, Method: assay.DrawQueue})
	if err != nil || queue.Members != 2 {
		t.Errorf("draw of disagreements %+v, %v", queue, err)
	}
	_, err = w.tcp.CheckJudge(ctx, "default", "nobody", api.CheckQuery{})
	holds(t, err, assay.CodeNotFound)
	_, err = w.tcp.CreateDraw(ctx, "default", api.NewDraw{Run: g.ID, Criterion: "mood"})
	holds(t, err, assay.CodeInvalid)
}
