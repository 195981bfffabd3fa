package judge

import (
	"strings"

	"assay/internal/assay"
)

// Verify looks every quote up in the session and fills in where it stands. A quote that is not
// found stays, unverified, at turn and message 0.
func Verify(s *assay.Session, quotes []assay.Evidence) []assay.Evidence {
	for i := range quotes {
		e := &quotes[i]
		e.Turn, e.Message, e.Start, e.End, e.Verified = find(s, e.Turn, e.Message, e.Quote)
	}
	return quotes
}

func find(s *assay.Session, turn, message int, quote string) (int, int, int, int, bool) {
	for t := range s.Turns {
		for m := range s.Turns[t].Messages {
			if at := strings.Index(s.Turns[t].Messages[m].Content, quote); at >= 0 {
				return t, m, at, at + len(quote), true
			}
		}
	}
	return 0, 0, 0, 0, false
}
