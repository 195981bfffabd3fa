package clock

import "time"

// A tick of a wall time comes at the first moment at which the zone's clock shows that time or a later
// one. So a time that the clock jumps over comes at the jump, once with all others that it jumps over;
// and a time that the clock shows twice comes the first time only.

// reach is further than any zone is from UTC or sets its clock in one go.
const reach = 48 * time.Hour

// wall is what a clock shows, written as if it were UTC. t is in the clock's zone.
func wall(t time.Time) time.Time {
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// shown is the latest that the clock has shown by t: more than it shows while an hour is repeated.
func shown(t time.Time, zone *time.Location) time.Time {
	t = t.In(zone)
	latest := wall(t)
	for start, _ := t.ZoneBounds(); !start.IsZero() && t.Sub(start) < reach; {
		before := start.Add(-1)
		if w := wall(before); w.After(latest) {
			latest = w
		}
		start, _ = before.ZoneBounds()
	}
	return latest
}

// reached is the first moment at which the clock shows w or later.
func reached(w time.Time, zone *time.Location) time.Time {
	t := w.Add(-reach).In(zone)
	for {
		_, offset := t.Zone()
		_, end := t.ZoneBounds()
		at := w.Add(-time.Duration(offset) * time.Second)
		if at.Before(t) {
			return t.UTC() // the clock jumped over w
		}
		if end.IsZero() || at.Before(end) {
			return at
		}
		t = end
	}
}
