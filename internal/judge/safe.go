package judge

import (
	"context"
	"fmt"
	"time"

	"assay/internal/assay"
)

// Safe makes a panic inside j a judge_error, so that one session that a judge cannot bear costs its
// own item and not the process.
func Safe(j Judge) Judge { return safe{j} }

type safe struct{ Judge }

func (s safe) Ask(ctx context.Context, q Question) (r Reply) {
	began := time.Now()
	defer func() {
		if p := recover(); p != nil {
			r = Reply{Class: assay.ClassJudgeError, Error: fmt.Sprintf("the judge panicked: %.300v", p), CallAt: began, EndedAt: time.Now()}
		}
	}()
	return s.Judge.Ask(ctx, q)
}
