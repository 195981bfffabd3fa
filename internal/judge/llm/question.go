package llm

import (
	"fmt"
	"slices"

	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/session/transcript"
)

// question is what one call asks about one session. While the call is under way it holds no more of
// the session than it needs to read the answer.
type question struct {
	transcript transcript.Transcript
	said       transcript.Said
	token      string
	examples   string         // whose answers stand in the prompt as well
	all        []judge.Unit   // of the session
	units      []judge.Unit   // that this call asks about; none for the session
	answered   []assay.Answer // about units, by earlier calls
	left       int            // units that are not asked about yet
}

// question says what to ask, or how the question ends without a call.
func (j *Judge) question(q judge.Question) (*question, *judge.Reply) {
	if q.Session == nil {
		return nil, &judge.Reply{Class: assay.ClassSessionMissing, Error: "the session's body is not there"}
	}
	out := &question{said: transcript.SaidIn(q.Session)}
	if j.unit != assay.UnitSession {
		if ended := j.chooseUnits(q, out); ended != nil {
			return nil, ended
		}
	}
	if j.spec.LongTranscripts != longHeadAndTail {
		out.transcript = transcript.Render(q.Session, j.spec.Transcript)
		return out, nil
	}
	var ok bool
	out.transcript, ok = transcript.Within(q.Session, j.spec.Transcript, transcript.Bound{Most: j.spec.TranscriptTokens, Count: j.cutter.count})
	if !ok {
		return nil, &judge.Reply{Class: assay.ClassContextTooLong, Error: fmt.Sprintf("not even the beginning and the end of the session fit into the %d tokens of transcript_tokens; nothing was sent", j.spec.TranscriptTokens)}
	}
	return out, nil
}

// chooseUnits takes the next units that no earlier call answered. Where none is left it ends the
// question with what their answers make.
func (j *Judge) chooseUnits(q judge.Question, out *question) *judge.Reply {
	out.all = judge.Units(q.Session, j.unit)
	for _, u := range out.all {
		known := slices.IndexFunc(q.Answered, func(a assay.Answer) bool { return a.Unit == u.Name && len(a.Findings) == len(j.criteria) })
		switch {
		case known >= 0:
			out.answered = append(out.answered, q.Answered[known])
		case len(out.units) < j.spec.UnitsPerCall:
			out.units = append(out.units, u)
		default:
			out.left++
		}
	}
	if len(out.units) > 0 {
		return nil
	}
	rolled, err := j.rollUp(out.answered)
	if err != nil && len(out.all) == 0 {
		return &judge.Reply{Class: assay.ClassSessionEmpty, Error: err.Error()}
	}
	if err != nil {
		return &judge.Reply{Class: assay.ClassJudgeError, Error: err.Error()}
	}
	return &judge.Reply{Answers: []assay.Answer{rolled}}
}

// inOrder are the answers about all units, in the order in which they stand in the session.
func (q *question) inOrder(answers []assay.Answer) []assay.Answer {
	byName := map[string]assay.Answer{}
	for _, a := range slices.Concat(q.answered, answers) {
		byName[a.Unit] = a
	}
	out := make([]assay.Answer, 0, len(q.all))
	for _, u := range q.all {
		out = append(out, byName[u.Name])
	}
	return out
}

// rollUp is the answer about the session.
func (j *Judge) rollUp(answers []assay.Answer) (assay.Answer, error) {
	findings, err := judge.RollUp(j.criteria, answers)
	if err != nil {
		return assay.Answer{}, err
	}
	return j.pass.Answer(findings)
}
