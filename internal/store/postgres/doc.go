// Package postgres keeps the store's contract in a PostgreSQL database, for when one machine is not
// enough.
//
// It owns the schema, the pool and the owner lock. It refuses to know what the contract refuses to
// know. Its invariant: whatever a driver writes, it writes in a transaction whose first statement
// locks the run row at the driver's epoch, so that a takeover either waits for the whole batch or
// makes it fail whole.
//
// Transactions are READ COMMITTED, and each locks first what it decides by: the run row (fences take
// FOR SHARE, or FOR NO KEY UPDATE when they write the row too, because two sharers that both want to
// write it would deadlock; changes of state take FOR UPDATE), the project row, or session rows in
// the order of their keys. What the server refuses as a deadlock or a serialization failure, and
// what dies with its connection before COMMIT was sent, is tried again here; a COMMIT whose answer
// never came is CodeUnavailable.
package postgres
