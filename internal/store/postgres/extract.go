package postgres

import (
	"context"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

type extracts struct{ s *Store }

// Extracts are not built yet.
func (s *Store) Extracts() store.Extracts { return extracts{s} }

var errUnbuilt = assay.Errorf(assay.CodeInternal, "not built yet")

func (e extracts) Items(ctx context.Context, chain []assay.RunID, judge int, through int64, f func(*store.ExtractItem) error) error {
	return errUnbuilt
}
func (e extracts) Findings(ctx context.Context, chain []assay.RunID, judge int, through int64, f func(*store.ExtractFinding) error) error {
	return errUnbuilt
}
func (e extracts) Calls(ctx context.Context, chain []assay.RunID, judge int, f func(*store.ExtractCall) error) error {
	return errUnbuilt
}
func (e extracts) Get(ctx context.Context, run assay.RunID, judge, format int) ([]byte, bool, error) {
	return nil, false, errUnbuilt
}
func (e extracts) Keep(ctx context.Context, run assay.RunID, judge, format int, kept []byte, now time.Time) error {
	return errUnbuilt
}
func (e extracts) Names(ctx context.Context, contents []assay.ContentKey) (map[assay.ContentKey]store.ExtractName, error) {
	return nil, errUnbuilt
}
