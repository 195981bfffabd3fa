// Package storetest is the contract of package store as tests: one suite that every implementation
// runs, and a store that fails on purpose.
//
// What it owns: what the words of the contract mean where they leave room. What it refuses to know:
// any database. Its invariant: a behaviour that callers may rely on is tested here, for all
// implementations alike, or it is not part of the contract.
package storetest
