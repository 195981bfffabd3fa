// Package client speaks to the API of internal/api, over a unix socket or over TCP with a token.
//
// It owns requests, the upload of files, the reading of event streams and the way back from
// problem+json to *assay.Error, so that errors.Is works across the wire. It refuses to know what a
// command does with an answer. Its invariant: a call returns either the server's answer or an
// *assay.Error; when nobody answers its code is unavailable.
package client
