package judge

import (
	"context"
	"fmt"
	"time"

	"assay/internal/assay"
)

// Safe makes a panic inside j a judge_error, so that one session that a judge cannot bear costs its
// own item and not the process. What is Metered stays so.
func Safe(j Judge) Judge {
	if m, ok := j.(Metered); ok {
		return safeMetered{safe{j}, m}
	}
	return safe{j}
}

type safe struct{ Judge }

func (s safe) Ask(ctx context.Context, q Question) (r Reply) {
	defer caught(&r, time.Now())
	return s.Judge.Ask(ctx, q)
}

type safeMetered struct {
	safe
	metered Metered
}

func (s safeMetered) Model() assay.ModelKey { return s.metered.Model() }
func (s safeMetered) Provider() string      { return s.metered.Provider() }

func (s safeMetered) Draft(q Question) (d Draft) {
	var failed Reply
	defer func() {
		if failed.Class != assay.ClassNone {
			failed.CallAt = time.Time{} // nothing left
			d = Draft{Ended: &failed}
		}
	}()
	defer caught(&failed, time.Now())
	d = s.metered.Draft(q)
	if send := d.Send; send != nil {
		d.Send = func(ctx context.Context) (r Reply) {
			defer caught(&r, time.Now())
			return send(ctx)
		}
	}
	return d
}

// caught is deferred: it turns a panic into a reply.
func caught(r *Reply, began time.Time) {
	if p := recover(); p != nil {
		*r = Reply{Class: assay.ClassJudgeError, Error: fmt.Sprintf("the judge panicked: %.300v", p), CallAt: began, EndedAt: time.Now()}
	}
}
