package shim

import "os"

// widen has nothing to do: the system widens pipes by itself.
func widen(*os.File) {}

// queued is not asked here: what waits is read within the time that drain gives anyway.
func queued(*os.File) int { return 0 }
