// Package store is the contract of storage: one small interface per noun, implemented by sqlite
// and postgres and held to its word by storetest, which both run.
//
// What it owns: rows, their atomic changes and the fence. What it refuses to know: when a run may
// change state (the engine's table decides and passes the allowed states in), what a judge is, how
// a sample is drawn. Its one invariant: a state lives in one row and is changed by conditional
// UPDATE only, and everything that an implementation promises "together" is one transaction.
//
// Rules for every implementation:
//   - Times go in and come out in UTC, truncated to the microsecond. "now" is passed in wherever it
//     is stored, so that tests own the clock.
//   - Errors that callers act on are *assay.Error; the texts of drivers never leave the package.
//   - No write transaction lasts longer than 50 ms on the design's machine; work that could is cut
//     into batches by the method's limit.
//   - Lists never load bodies. Texts hold no NUL and are valid UTF-8: writers replace, never fail.
package store
