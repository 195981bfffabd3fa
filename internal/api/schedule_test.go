package api_test

import (
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
