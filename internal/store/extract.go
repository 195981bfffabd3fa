package store

import (
	"context"
	"time"

	"assay/internal/assay"
)

// Extracts are what reports, comparisons and checks read of a run's items: heads and answers without their texts,
// and what was made of them, kept as bytes that only their maker understands (package report/extract).
type Extracts interface {
	// Items calls f for the newest item of each content over a chain of runs, given newest first, of the judge given
	// by its index and of repeat 0, in no order that callers may rely on. With through > 0 only items with
	// Seq <= through count; callers then give a chain of one run. f must not keep the row.
	Items(ctx context.Context, chain []assay.RunID, judge int, through int64, f func(*ExtractItem) error) error
	// Findings calls f for each adopted finding about the session (unit "") of the graded ones of the same items, in
	// no order that callers may rely on. f must not keep the row.
	Findings(ctx context.Context, chain []assay.RunID, judge int, through int64, f func(*ExtractFinding) error) error
	// Calls calls f for each attempt of a judge's items over the chain whose call left and ended.
	Calls(ctx context.Context, chain []assay.RunID, judge int, f func(*ExtractCall) error) error
	// Get returns what was kept for a run and judge; found is false where there is nothing of that format.
	Get(ctx context.Context, run assay.RunID, judge, format int) (kept []byte, found bool, err error)
	// Keep replaces what is kept. Only of runs that have ended, whose items never change; a late attempt (Items.Late)
	// drops what was kept of its run and of those that retry it. It is a cache: whoever removes a project or run
	// removes it too.
	Keep(ctx context.Context, run assay.RunID, judge, format int, kept []byte, now time.Time) error
	// Said returns what the adopted verdicts of items answered about the session, by item, for the few that are
	// shown. Items without a verdict are missing.
	Said(ctx context.Context, items []assay.Origin) (map[assay.Origin][]ExtractFinding, error)
	// Names returns user and session of contents, for the few that are shown.
	Names(ctx context.Context, contents []assay.ContentKey) (map[assay.ContentKey]ExtractName, error)
}

// ExtractItem is one item of repeat 0 with the head of its session as it is now: agent version, source, case and user.
type ExtractItem struct {
	Run          assay.RunID
	Seq          int64
	RootSeq      int64 // of the item of this content in the oldest run of the chain: its place in dispatch order
	Content      assay.ContentKey
	Session      assay.SessionKey
	Stratum      int
	State        assay.ItemState
	Class        assay.Class
	Pass         *bool
	Reused       bool
	Cut          bool
	User         string
	Case         string // "" is none
	AgentVersion string // assay.Mixed where turns differ, "" where none was recorded
	Source       string
}

// ExtractFinding is an answer to one criterion. Value is JSON, "" where there is none.
type ExtractFinding struct {
	Content    assay.ContentKey
	Criterion  string
	Applies    bool
	Abstained  bool
	Value      string
	Reason     string
	Quoted     bool // there is evidence
	Unverified bool // some of it was not found in the transcript
}

// ExtractCall is how long one attempt took.
type ExtractCall struct {
	N     int           // of the item, from 1
	Wait  time.Duration // before it was opened: in the queue with N 1, else for the time to retry and in the queue
	Delay time.Duration // from there to the call: for a permit of the limiter
	Call  time.Duration // from the call to its end
	Class assay.Class   // "" of one that brought a verdict
}

// ExtractName names the session of a content, and the case where it is one.
type ExtractName struct {
	UserID      string
	SessionID   string
	ContentHash assay.Hash
}
