// Package sqlite keeps the store's contract in one file, assay.db, of a data folder.
//
// What it owns: the file, its schema, the one connection that writes and the few that read, and the
// owner lock. What it refuses to know: everything that the contract refuses to know.
//
// Its invariant: every write is one BEGIN IMMEDIATE transaction on the writing connection, which
// callers get by priority, and is on disk (WAL, synchronous FULL) when its method returns. Other
// processes may read and write the same file; the owner lock is about driving runs, not about rows.
//
// The driver is spoken to through database/sql/driver, without the pool of database/sql: statements
// are prepared once per connection, and a row costs no reflection.
package sqlite
