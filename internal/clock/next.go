package clock

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
)

// timetable is when a schedule is due.
type timetable struct {
	cron cron
	zone *time.Location
}

func parse(def assay.ScheduleDef) (t timetable, err error) {
	if t.cron, err = parseCron(def.Cron); err != nil {
		return t, err
	}
	if def.Zone == "" {
		return t, bad("the schedule names no zone").WithHint("use a name of the IANA database, for instance Europe/Berlin or UTC")
	}
	if t.zone, err = assay.Zone(def.Zone); err != nil {
		return t, bad("zone %.40q is not known", def.Zone).WithHint("use a name of the IANA database, for instance Europe/Berlin or UTC")
	}
	return t, nil
}

// next is the first tick after a moment; false: it never comes.
func (t timetable) next(after time.Time) (time.Time, bool) {
	w, ok := t.cron.after(shown(after, t.zone))
	if !ok {
		return time.Time{}, false
	}
	return reached(w, t.zone), true
}

// Next is a schedule's first tick strictly after a moment, in UTC. CodeInvalid when the definition cannot
// be read or its tick never comes.
func Next(def assay.ScheduleDef, after time.Time) (time.Time, error) {
	t, err := parse(def)
	if err != nil {
		return time.Time{}, err
	}
	next, ok := t.next(after)
	if !ok {
		return time.Time{}, bad("cron %q never comes: no year has such a day", def.Cron).
			WithHint("the fields are minute, hour, day of month, month and day of week; '0 3 28-31 * *' is the end of each month")
	}
	return next, nil
}

// Validate says what is wrong with a definition as far as it can be known without a store: whether its
// suite and its judges exist is asked when it is applied, and again at each tick.
func Validate(def assay.ScheduleDef) error {
	if _, err := Next(def, time.Now()); err != nil {
		return err
	}
	switch def.CatchUp {
	case assay.CatchUpOne, assay.CatchUpNone:
	default:
		return bad("catch_up %.40q is not known", def.CatchUp).WithHint("use one (one run makes up for all ticks that nobody was there for) or none (they are skipped)")
	}
	switch def.Overlap {
	case assay.OverlapSkip, assay.OverlapQueue:
	default:
		return bad("overlap %.40q is not known", def.Overlap).WithHint("use skip (a tick while a run is active is left out) or queue (it waits for the run's end)")
	}
	switch {
	case def.Suite != nil && len(def.Grade) > 0:
		return bad("the schedule starts both a suite and a grade run").WithHint("write two schedules, one for each")
	case def.Suite == nil && len(def.Grade) == 0:
		return bad("the schedule starts nothing").WithHint("write `suite: {name: …}` or `grade: {judges: […]}`")
	case def.Suite != nil && strings.TrimSpace(def.Suite.Name) == "":
		return bad("the schedule's suite has no name").WithHint("write `suite: {name: …}`; `assay suite list` shows them")
	case def.Suite != nil:
		return nil
	}
	_, err := gradeOf(def)
	return err
}

// gradeOf reads the request of a grade schedule.
func gradeOf(def assay.ScheduleDef) (q engine.GradeRequest, err error) {
	dec := json.NewDecoder(bytes.NewReader(def.Grade))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&q); err != nil {
		return q, bad("grade: %w", err).WithHint("it holds the fields of a grade request, for instance judges: [resolved]")
	}
	if _, err := dec.Token(); err != io.EOF {
		return q, bad("grade: more than one request").WithHint("it holds the fields of one grade request, for instance judges: [resolved]")
	}
	if q.Session != "" {
		return q, bad("grade names one session").WithHint("a schedule grades what settled since the last time; `assay grade --session` grades one session")
	}
	if len(q.Judges) == 0 {
		return q, bad("grade names no judge").WithHint("write judges: [resolved]; `assay judge list` shows which there are")
	}
	return q, nil
}
