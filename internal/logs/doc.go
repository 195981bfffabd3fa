// Package logs keeps the output of one run: it masks secrets, stores bytes in a folder up to a bound,
// and reads them back while they are still being written, from any process.
//
// It refuses to know what writes and why, and imports nothing of ours but durable. Its invariant: an offset
// means the same byte for ever. The stored output is one stream of masked bytes, cut into segments that are
// named by where they begin; when the bound is passed whole segments between the head and the tail go
// away, so that a reader may meet a gap, but never other bytes than before.
//
//	00000000000000000000-000000000000   head: kept
//	00000000000004194304-000000051023   head: kept
//	            ( gap )                 deleted when the bound was passed
//	00000000000301989888-000003301222   tail: the newest bytes
//	OFFSET of its first byte-lines before it
//
// Segments that are full are made durable while the next one is written, all of them and their names when the
// log is closed.
//
// One process writes; that there is only one is for the caller to hold. All segments but the last are final:
// readers need no lock, and list the folder again when a segment that they listed is gone.
package logs
