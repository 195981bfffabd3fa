// Package e2e holds the tests that need the real binary: processes that are killed, stopped and
// raced against a scripted model over real HTTP, on both databases. It has no code of its own.
package e2e
