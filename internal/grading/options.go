package grading

import (
	"encoding/json"
	"log/slog"
	"time"

	"assay/internal/assay"
	"assay/internal/engine"
	"assay/internal/judge"
	"assay/internal/limit"
	"assay/internal/store"

	"golang.org/x/sync/semaphore"
)

// Options are what planning and driving need from outside.
type Options struct {
	Store store.Store
	// Build makes a judge of a version, with the settings that a run was planned with.
	Build func(v assay.JudgeVersion, settings json.RawMessage) (judge.Judge, error)
	// Builtin knows the judges that need no apply; CodeNotFound when there is none of that name.
	Builtin func(name string) (assay.Judge, assay.JudgeVersion, error)
	Gate    *engine.Gate
	// Limits hold the calls of all runs of this process; nil makes a registry of one's own.
	Limits *limit.Registry
	// Price is what calls to a model cost now; nil where that is not known. provider is the name in the
	// judge's definition.
	Price    func(provider string, key assay.ModelKey) *assay.Price
	Observer judge.Observer // nil watches nothing
	Memory   int64          // bytes that sessions in hand may take together; DefaultMemory when 0
	Now      func() time.Time
	Log      *slog.Logger
}

// DefaultMemory is what sessions in hand may take together. One that is larger goes alone.
const DefaultMemory = 512 << 20

// Grader plans and drives grade and single runs. It implements engine.Planner, engine.Driver and engine.Beginner.
type Grader struct {
	o       Options
	reading chan struct{} // held while a body is read or unpacked
	memory  *semaphore.Weighted
	purses  purses
}

var (
	_ engine.Planner  = (*Grader)(nil)
	_ engine.Driver   = (*Grader)(nil)
	_ engine.Beginner = (*Grader)(nil)
)

// readers bounds how many bodies are read at once: unpacking is work for the processor, and hundreds
// of calls that begin together would each want a connection of its own to the database.
const readers = 4

// New makes a Grader.
func New(o Options) *Grader {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Gate == nil {
		o.Gate = engine.NewGate()
	}
	if o.Limits == nil {
		o.Limits = limit.New(o.Now)
	}
	if o.Memory <= 0 {
		o.Memory = DefaultMemory
	}
	return &Grader{o: o, reading: make(chan struct{}, readers), memory: semaphore.NewWeighted(o.Memory)}
}

// Begin is called when this process begins to own the database, before it drives: what it knew of the
// money that was spent may be old by now.
func (g *Grader) Begin() { g.purses.forget() }
