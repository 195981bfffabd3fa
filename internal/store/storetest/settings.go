package storetest

import (
	"testing"

	"assay/internal/assay"
)

// testModels is alone in its store: models belong to the whole database.
func testModels(t *testing.T, open opener) {
	w := newWorld(t, open(t))
	list := func() []assay.Model {
		list, err := w.Models().List(w.ctx)
		w.ok(err)
		return list
	}
	equal(w, "models", len(list()), 0)
	a := assay.Model{ModelKey: assay.ModelKey{Endpoint: "http://a", Model: "z"}, UpdatedAt: at(1)}
	b := assay.Model{ModelKey: assay.ModelKey{Endpoint: "http://a", Model: "я-model"}, UpdatedAt: at(2), Settings: assay.ModelSettings{
		Price:         &assay.Price{Input: 150_000_000, Cached: ptr(assay.USD(15_000_001)), Output: 600_000_000, AsOf: ptr(at(-86400)), Source: "set"},
		Limits:        assay.Limits{RequestsPerMinute: 0.5, TokensPerMinute: 1e6, Concurrency: 7},
		ContextTokens: 128_000,
	}}
	c := assay.Model{ModelKey: assay.ModelKey{Endpoint: "http://b", Model: "a"}, UpdatedAt: at(3), Settings: assay.ModelSettings{ContextTokens: 1}}
	for _, m := range []assay.Model{c, b, a} {
		w.ok(w.Models().Put(w.ctx, m.ModelKey, m.Settings, m.UpdatedAt))
	}
	equal(w, "models", list(), []assay.Model{a, b, c})
	b.Settings, b.UpdatedAt = assay.ModelSettings{Limits: assay.Limits{Concurrency: 1}}, at(4)
	w.ok(w.Models().Put(w.ctx, b.ModelKey, b.Settings, b.UpdatedAt))
	equal(w, "models after a new setting", list(), []assay.Model{a, b, c})
	w.ok(w.Models().Delete(w.ctx, a.ModelKey))
	w.code(w.Models().Delete(w.ctx, a.ModelKey), assay.CodeNotFound)
	w.code(w.Models().Delete(w.ctx, assay.ModelKey{Endpoint: "http://a", Model: "a"}), assay.CodeNotFound)
	w.ok(w.Projects().Delete(w.ctx, w.project.ID, nil))
	equal(w, "models once the project is gone", list(), []assay.Model{b, c})
}
