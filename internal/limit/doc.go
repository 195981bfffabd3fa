// Package limit decides when a call to a provider's model may leave: one Limiter per model for all
// runs of a process.
//
// It owns the counting of requests, tokens and calls in flight, the learning from 429s and from the
// provider's headers, fairness between those who share a model, and the circuit breaker. It refuses to
// know runs, judges and HTTP. Its invariant: a call leaves only with a permit, a refusal is a value
// and never blocks, so that what waits costs no goroutine.
//
// # What bounds a call
//
// A call leaves when all of these allow it, asked in this order:
//
//	breaker   the provider is thought to be up
//	quiet     what Retry-After, or a header that says that nothing remains, asked for has passed
//	window    calls in flight: as a person set, and as learned
//	requests  a bucket filled at the least of what a person set, the provider told and 429s taught
//	tokens    a bucket filled at the least of what a person set and the provider told
//	turn      no other share that waits is owed the call
//
// # The learned rate and window
//
//	           429                 429
//	  opening -----> climbing ------------> returning <-------------------+
//	(no bound)     (no ceiling)  (ceiling :=   |   ^                      |
//	                   ^          what was     |   | 429                  |
//	                   |          accepted)    v   |                      |
//	                   |                      resting, just under it      |
//	                   |                       |                          |
//	                   |        its interval   |                          | 429: the interval
//	                   |        has passed     v                          | doubles
//	                   +--------------------- probing --------------------+
//	                     it took more than a
//	                     ceiling that stands
//	                     explains: the interval
//	                     starts anew
//
// All 429s of calls that left before the cut are one episode. One in which nothing was accepted teaches
// no ceiling: it halves the rate, and calls that are accepted after it double it again. Growth is by time, and only while the
// limiter is what bounds. Failures that are no 429 change neither.
//
// # The breaker
//
//	        calls fail in a row for a while; or quota used up
//	closed -------------------------------------------------> open <--------------+
//	  ^                                                        |                  |
//	  |                                              probeAt   |                  | the probe failed:
//	  |                                                        v                  | waits twice as long
//	  +--------------------------------------------------- half-open -------------+
//	     the probe was answered                      one permit is out as probe;
//	     (also: 200 or 429 to an older call,         aborted, it is given to another
//	     unless quota was the cause)
package limit
