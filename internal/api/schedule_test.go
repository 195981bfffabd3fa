package api_test

import (
	"net/http"
	"strings"
	"testing"

	"assay/internal/api"
	"assay/internal/assay"
)

// What every night would be refused is refused when it is applied.
func TestAGradeScheduleIsReadWhenItIsApplied(t *testing.T) {
	w := stocked(t, 1)
	apply := func(grade string) error {
		_, err := w.tcp.ApplySchedules(t.Context(), "default", api.DefinitionFile{Source: "schedules:\n  night:\n    cron: 0 3 * * *\n    grade: {judges: [good]" + grade + "}\n"})
		return err
	}
	for _, good := range []string{"", ", per_stratum: 5", ", since: 2199-01-01T00:00:00Z"} {
		if err := apply(good); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for bad, want := range map[string]string{
		", filter: 'broken(('": "filter",
		", set: none":          "none",
		", repeats: 100000":    "repeats",
		", from: 2026-05-01T00:00:00Z, to: 2026-01-01T00:00:00Z": "window is empty",
	} {
		err := apply(bad)
		if code := assay.CodeOf(err); err == nil || code != assay.CodeInvalid && code != assay.CodeNotFound || !strings.Contains(err.Error(), "schedule night: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// Whoever got no answer asks again, and gets the run that the first request made.
func TestAScheduleIsRunOnceWithAKey(t *testing.T) {
	w, ctx := suited(t), t.Context()
	if _, err := w.socket.ApplySchedules(ctx, "default", file(t, definitions)); err != nil {
		t.Fatal(err)
	}
	first, err := w.tcp.RunSchedule(ctx, "default", "night", "ann", "k")
	if err != nil || first.Replayed {
		t.Fatalf("%+v, %v", first, err)
	}
	again := func() {
		t.Helper()
		if r, err := w.tcp.RunSchedule(ctx, "default", "night", "ann", "k"); err != nil || r.ID != first.ID || !r.Replayed {
			t.Errorf("%s %t, %v, want %s", r.ID, r.Replayed, err, first.ID)
		}
	}
	again()
	_, err = w.tcp.RunSchedule(ctx, "default", "night", "bob", "k")
	holds(t, err, assay.CodeIdempotency)
	_, err = w.tcp.RunSchedule(ctx, "default", "night", "ann", "other")
	holds(t, err, assay.CodeConflict)
	if _, err := w.tcp.Cancel(ctx, first.ID, false); err != nil {
		t.Fatal(err)
	}
	again()
	if err := w.tcp.DeleteSchedule(ctx, "default", "night"); err != nil {
		t.Fatal(err)
	}
	again()
	graded := stocked(t, 1)
	if _, err := graded.tcp.ApplySchedules(ctx, "default", api.DefinitionFile{Source: "schedules:\n  night:\n    cron: 0 3 * * *\n    grade: {judges: [good]}\n"}); err != nil {
		t.Fatal(err)
	}
	one, err := graded.tcp.RunSchedule(ctx, "default", "night", "ann", "k")
	if err != nil {
		t.Fatal(err)
	}
	if r, err := graded.tcp.RunSchedule(ctx, "default", "night", "ann", "k"); err != nil || r.ID != one.ID || !r.Replayed {
		t.Errorf("%s %t, %v, want %s", r.ID, r.Replayed, err, one.ID)
	}
}

// Who asks is shown in every list: it is a name, not a text.
func TestWhoAsksIsBounded(t *testing.T) {
	w, ctx := suited(t), t.Context()
	if _, err := w.socket.ApplySchedules(ctx, "default", file(t, definitions)); err != nil {
		t.Fatal(err)
	}
	id := external(t, w).String()
	long := strings.Repeat("x", 500_000)
	for path, body := range map[string]string{
		"/projects/default/suites/nightly/runs": `{"by":"` + long + `"}`,
		"/projects/default/schedules/night/run": `{"by":"` + long + `"}`,
		"/projects/default/runs":                `{"judges":["good"],"by":"` + long + `"}`,
		"/projects/default/external":            `{"name":"x","by":"` + long + `"}`,
		"/projects/default/external?":           `{"name":"x","where":"` + long + `"}`,
		"/runs/" + id + "/retry":                `{"by":"` + long + `"}`,
		"/runs/" + id + "/cancel":               `{"by":"` + long + `"}`,
	} {
		if code, answer := post(t, w, path, body); code != http.StatusUnprocessableEntity && code != http.StatusBadRequest {
			t.Errorf("%s: %d %.200s", path, code, answer)
		}
	}
}
