// Package api serves what the program can do over HTTP.
//
// It owns the routes under /api/v1, their JSON, the OpenAPI document made from them, errors as
// problem+json, event streams, and who may reach all that (Guard). It refuses to know when a run may
// change state or how anything is stored or judged: it asks the engine, the store and the functions
// in Services. Its invariant: every answer is either what was asked for or a problem with a stable
// code, and no page of another origin can read or start anything.
package api

//go:generate go test -run TestDocumentIsUpToDate . -update
