package print_test

import (
	"bytes"
	"fmt"
	"testing"

	"assay/internal/assay"
	"assay/internal/report/check"
	"assay/internal/report/draw"
	"assay/internal/report/print"
	"assay/internal/report/reporttest"
)

func TestCheck(t *testing.T) {
	w := world(t)
	run := w.Run(reporttest.Plan{Judge: "solved"}, said)
	checked := func(name, criterion string) {
		t.Helper()
		c, err := check.Build(w.Ctx, w.Store, w.Project, "solved", check.Options{Criterion: criterion})
		w.Must(err)
		var out bytes.Buffer
		w.Must(print.Check(&out, print.Text, c, 100))
		golden(t, name, out.Bytes())
	}
	checked("check-nothing.txt", "")
	d, members, err := draw.Sample(w.Ctx, w.Store, w.Project, draw.Request{Run: run, Method: assay.DrawRandom, N: 60})
	w.Must(err)
	d, err = w.Store.Labels().CreateDraw(w.Ctx, w.Project.ID, d, members, w.Now)
	w.Must(err)
	var labels []assay.Label
	for _, m := range members {
		var i int
		fmt.Sscanf(m.SessionID, "s%d", &i)
		for criterion, value := range map[string]any{assay.CriterionPass: i%4 != 0, "score": 1 + (i+i/7%2)%5} {
			labels = append(labels, assay.Label{UserID: m.UserID, SessionID: m.SessionID, ContentHash: m.ContentHash, Criterion: criterion,
				Value: []byte(fmt.Sprint(value)), Rater: "ann" + hostile, Note: hostile, Blind: true, Use: assay.UseMeasure, Draw: d.ID})
		}
	}
	_, err = w.Store.Labels().Put(w.Ctx, w.Project.ID, labels, w.Now)
	w.Must(err)
	checked("check-boolean.txt", "")
	checked("check-number.txt", "score")
}
