package postgres

import (
	"context"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

func (l labels) Put(ctx context.Context, project assay.ProjectID, list []assay.Label, now time.Time) ([]store.LabelResult, error) {
	return nil, errUnbuilt
}
func (l labels) Remove(ctx context.Context, project assay.ProjectID, q store.LabelQuery) (int64, error) {
	return 0, errUnbuilt
}
func (l labels) Mark(ctx context.Context, project assay.ProjectID, q store.LabelQuery, use assay.LabelUse) (int64, error) {
	return 0, errUnbuilt
}
func (l labels) Contents(ctx context.Context, project assay.ProjectID, criterion string, f func(*store.ContentLabel) error) error {
	return errUnbuilt
}
func (l labels) CreateDraw(ctx context.Context, project assay.ProjectID, d assay.Draw, members []assay.DrawMember, now time.Time) (assay.Draw, error) {
	return d, errUnbuilt
}
func (l labels) Draws(ctx context.Context, project assay.ProjectID, p store.Page) ([]assay.Draw, string, error) {
	return nil, "", errUnbuilt
}
func (l labels) Draw(ctx context.Context, project assay.ProjectID, id int64) (assay.Draw, error) {
	return assay.Draw{}, errUnbuilt
}
func (l labels) Members(ctx context.Context, project assay.ProjectID, draw int64, open bool, rater string, p store.Page) ([]assay.DrawMember, string, error) {
	return nil, "", errUnbuilt
}
func (l labels) Drawn(ctx context.Context, draw int64, f func(assay.ContentKey, assay.Stratum, float64) error) error {
	return errUnbuilt
}
