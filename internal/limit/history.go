package limit

import "time"

const (
	slotWidth = 100 * time.Millisecond
	slotCount = 256 // 25.6 s
)

// slot counts the calls that left in a tenth of a second.
type slot struct {
	left    int32
	limited int32 // of them, so far known
	silent  bool  // the provider had asked to wait all through it
}

// history remembers when the calls of the last seconds left and which of them were refused: what the
// provider accepts is seen by departure, for answers may take long and refusals are quick.
type history struct {
	began  time.Time
	last   int64 // newest slot
	slots  [slotCount]slot
	recent float64
}

func (h *history) index(at time.Time) int64 { return int64(at.Sub(h.began) / slotWidth) }

// roll makes the slot of now the newest.
func (h *history) roll(now, silentFrom, silentUntil time.Time) {
	i := h.index(now)
	if i <= h.last {
		return
	}
	from, until := int64(0), int64(0)
	if silentUntil.After(silentFrom) {
		from, until = h.index(silentFrom), h.index(silentUntil)
	}
	for j := max(h.last+1, i-slotCount+1); j <= i; j++ {
		h.slots[j%slotCount] = slot{silent: j > from && j < until}
	}
	h.last = i
	h.recent = 0
	for j := max(0, i-10); j < i; j++ {
		h.recent += float64(h.slots[j%slotCount].left)
	}
}

// pace is how many calls left per second, over the last second or so.
func (h *history) pace() float64 { return h.recent }

func (h *history) leave(n int32) int64 {
	h.slots[h.last%slotCount].left += n
	return h.last
}

// at is the slot i, or nil when it is forgotten.
func (h *history) at(i int64) *slot {
	if i < 0 || i > h.last || i <= h.last-slotCount {
		return nil
	}
	return &h.slots[i%slotCount]
}

// between counts the calls that left in slots from to to and those of them that are known to be refused,
// how long these slots are up to now, and how much of that was silence that the provider asked for.
func (h *history) between(from, to int64, now time.Time) (left, limited int, span, silent time.Duration) {
	from = max(from, 0, h.last-slotCount+1)
	to = min(to, h.last)
	for i := from; i <= to; i++ {
		s := h.slots[i%slotCount]
		left += int(s.left)
		limited += int(s.limited)
		if s.silent {
			silent += slotWidth
		}
	}
	end := earlier(h.began.Add(time.Duration(to+1)*slotWidth), now)
	return left, limited, max(end.Sub(h.began.Add(time.Duration(from)*slotWidth)), 0), silent
}
