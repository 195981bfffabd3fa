// Package wrap runs a command for somebody else, a person or a CI job, and reports it as an external run.
//
// It owns the child, the spool (a folder that holds all that is to be told) and the order of sending. It
// refuses to know how a server is found. Its invariant: the command is never held up and its exit status
// never changed by what becomes of the reports. Everything is first written to the spool and then sent from
// there; what the server has is known from its answers, so a spool can be sent by any later process, as
// often as it takes, without telling anything twice.
//
//	command ─▶ terminal
//	   └─────▶ spool: wrap.json, log/, events, finish.json ─▶ sender ─▶ server
//	                                                            │ all told: the folder goes away
//	                                                            └ not: it stays for the next wrap, or --send
package wrap
