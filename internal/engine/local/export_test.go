package local

// Remembered is how many runs' failures a dispatcher holds in memory.
func (d *Dispatcher) Remembered() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.gave)
}
