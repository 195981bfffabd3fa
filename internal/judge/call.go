package judge

import (
	"context"

	"assay/internal/assay"
)

// Call says whose a call is, for those who watch.
type Call struct {
	Project  string
	Run      assay.RunID
	Seq      int64
	N        int // of the attempt, from 1
	Judge    string
	Version  assay.Hash
	Kind     assay.JudgeKind
	Model    assay.ModelKey // zero for judges that are not Metered
	Provider string         // as Metered has it; "" likewise
}

// Observer watches calls. It must not change, delay or fail them.
type Observer interface {
	// Call is told before a call leaves. The context that it returns goes into the call; ended is called
	// once, with how it ended and what it cost (nil: not known).
	Call(ctx context.Context, c Call) (inside context.Context, ended func(r Reply, cost *assay.USD))
}
