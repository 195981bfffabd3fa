package process

// Identity proves which process a number means: numbers are reused, the pair of boot and start time
// is not. The zero Identity is of no process.
type Identity struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // in the kernel's clock ticks since boot
	Boot  string `json:"boot"`
}

// Is says whether process number pid is still the one that i was taken from.
func (i Identity) Is(pid int) bool {
	if i.PID == 0 || i.PID != pid {
		return false
	}
	now, err := Identify(pid)
	return err == nil && now == i
}
