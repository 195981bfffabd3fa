// Package demo invents sessions, so that a person can see the program work without data, network or
// key. Every session says of itself that it is synthetic, every user is called synthetic-user-N.
//
// It owns the story: two weeks of a made-up shop's support agent, a quiet weekend, one day with ten
// times the traffic, one day on which a tool breaks, two arms of which the treatment resolves more.
// It refuses to know how sessions are stored and graded. Its invariant: a session is a pure function
// of seed, number and start, so more sessions keep those that were there.
package demo
