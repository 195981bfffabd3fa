package api

import (
	"context"
	"errors"
	"strconv"

	"assay/internal/assay"
	"assay/internal/logs/inbox"
)

// sentMost is how much output one report may bring.
const sentMost = 512 << 10

// take stores the output that a report brings. Without any it says how much there is.
func (s *server) take(ctx context.Context, run assay.RunID, sent *SentLog) (inbox.Received, error) {
	var piece inbox.Piece
	if sent != nil {
		piece = inbox.Piece{Offset: sent.Offset, Gap: sent.Gap, Data: sent.Data}
	}
	if len(piece.Data) > sentMost {
		return inbox.Received{}, assay.Errorf(assay.CodeInvalid, "log.data holds %d bytes: more than %d", len(piece.Data), sentMost).WithHint("send it in several reports")
	}
	got, err := inbox.Folder{Dir: s.Harnesses.RunDir(run), Log: s.Harnesses.LogDir(run)}.Take(ctx, piece)
	var early *inbox.Early
	switch {
	case errors.As(err, &early):
		err = assay.Errorf(assay.CodeInvalid, "%w", err).
			WithHint("send from byte %d, or say with gap how much is lost", early.Sent).With("log_sent", strconv.FormatInt(early.Sent, 10))
	case err != nil:
		err = assay.Errorf(assay.CodeUnavailable, "the output of %s could not be stored: %w", run, err).WithHint("send it again later; what came before is kept")
	}
	return got, err
}
