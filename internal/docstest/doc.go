// Package docstest holds the documents to their word: what README.md and docs say of commands, make
// targets, paths and dependencies is tried.
//
// It owns the reading of Markdown for that. It refuses to judge style. Its invariant: a command that
// a reader may copy has been run by a test, in order, with the real program.
package docstest
