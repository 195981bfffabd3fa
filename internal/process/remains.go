package process

// Remains are what is known of a tree whose parent died. A process is of it when that is proven: it is the
// leader, in a group that the leader leads still, in the tree's control group, or carries its mark. Where there
// are no control groups (macOS) only the leader and its group are found.
type Remains struct {
	Leader Identity `json:"leader"`
	Cgroup string   `json:"cgroup,omitempty"`
	Mark   string   `json:"mark"`
}
