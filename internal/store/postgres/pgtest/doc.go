// Package pgtest gives tests a real PostgreSQL: a private server from the installed binaries, and
// a fresh database for each test.
//
// It owns the server's processes and files, which are gone when the test binary is. It knows no
// table of ours. Its invariant: a test never meets another test's rows, and a missing PostgreSQL is
// a skip with its reason on a person's machine and a failure in CI.
//
//	func TestMain(m *testing.M) { pgtest.Main(m) }
//
//	func TestX(t *testing.T) { s, err := postgres.Open(ctx, pgtest.Database(t)) ... }
package pgtest
