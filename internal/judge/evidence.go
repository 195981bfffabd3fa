package judge

import (
	"assay/internal/assay"
	"assay/internal/session/transcript"
)

// Verify looks every quote up in the session and fills in where it stands, first at the place that
// the judge named (negative: it named none). A quote that is not found stays, unverified: a criterion
// that requires evidence and has no verified quote keeps its finding, and reports count it.
func Verify(s *assay.Session, quotes []assay.Evidence) []assay.Evidence {
	if len(quotes) == 0 {
		return quotes
	}
	return VerifyIn(transcript.SaidIn(s), quotes)
}

// VerifyIn is Verify for a judge that keeps of the session only what was said.
func VerifyIn(said transcript.Said, quotes []assay.Evidence) []assay.Evidence {
	for i, q := range quotes {
		quotes[i] = said.Find(q.Turn, q.Message, q.Quote)
		quotes[i].Turn = max(0, quotes[i].Turn)
		quotes[i].Message = max(0, quotes[i].Message)
	}
	return quotes
}
