package check_test

import (
	"fmt"
	"math"
	"testing"

	"assay/internal/assay"
	"assay/internal/report/check"
)

// Of labels drawn by verdict half are of what the judge failed: counted alike they are far off, weighed they are right.
func TestLabelsDrawnByVerdictAreWeighed(t *testing.T) {
	w, run := world(t, 400)
	d, members := drawn(w, run, assay.DrawVerdicts, 100)
	label(w, "ann", d.ID, members, good, nil)
	var passed float64
	for _, m := range members {
		var i int
		fmt.Sscanf(m.SessionID, "s%d", &i)
		if good(i) {
			passed++
		}
	}
	c := build(w, check.Options{}).Rates.Corrected
	if off := 0.8 - passed/float64(len(members)); off < 0.24 {
		t.Fatalf("counted alike the labels are off by %v only: this shows nothing", off)
	}
	if c.Value == nil || math.Abs(*c.Value-0.8) > 0.05 || c.Interval == nil || c.Interval.Low > 0.8 || c.Interval.High < 0.8 {
		t.Errorf("corrected %+v %+v, truth 0.8", c, c.Interval)
	}
}
