package telemetry

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestATroubleIsLoggedOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := newSeldom(slog.New(slog.NewTextHandler(&log, nil)))
		for range 3 * 60 {
			s.warn(t.Context(), "away")
			time.Sleep(time.Second) // of the bubble's clock
		}
		if n := strings.Count(log.String(), "away"); n != 3 || !strings.Contains(log.String(), "not_logged_before=59") {
			t.Errorf("%d lines in three minutes: %s", n, log.String())
		}
	})
}
