// Package provider makes one call to a model's provider, in that provider's own protocol: Chat
// Completions, Responses or Messages.
//
// It owns what is known of each provider (profile.go), the request's bytes, the key and its sources,
// the transport, and the reading of what comes back: the model's text, or a class and a sentence. The
// SDKs bring request types, authorization, versions and transport; the response is read here, because
// compatible servers answer with half of what the SDKs' types expect. It refuses to know questions,
// verdicts, retries, waits and prices. Its invariants: a reply without a class has text, and no key
// stands in any text that leaves the package.
//
//	New ── parameters, fixed texts: encoded once
//	 │
//	Body ── values filled in
//	 │
//	Send ── key ──none──► bad_credentials: nothing left
//	         │
//	         ▼
//	        call ──no response──► endpoint_unreachable (nothing left), network, timeout, aborted
//	         │
//	         ▼
//	        body ──cut, slow──► network, timeout
//	         │   ──not 2xx───► problem.go: class, Retry-After, what was told of limits
//	         ▼
//	        reader of the protocol ──refusal, filter, length cut, empty, no answer at all──► their class
//	         │
//	         ▼
//	        text, usage
package provider

//go:generate go test -run TestProvidersDocument -update .
