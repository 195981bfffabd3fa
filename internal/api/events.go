package api

import "time"

// Heartbeat is how often a silent event stream says that it lives.
const Heartbeat = 10 * time.Second
