package provider

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"assay/internal/assay"
)

// insecure begins the sentence about a connection that TLS refused.
const insecure = "no secure connection to the endpoint"

// broken classifies a call that brought no response.
func broken(err error) (assay.Class, string) {
	var op *net.OpError
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		return assay.ClassUnreachable, fmt.Sprintf("the endpoint's host %s has no address", dns.Name)
	case errors.As(err, &op) && op.Op == "proxyconnect":
		return assay.ClassUnreachable, "the proxy that the environment names cannot be reached: " + firstLine(innermost(op.Err).Error())
	case errors.As(err, &op) && op.Op == "dial":
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.EADDRNOTAVAIL) {
			return assay.ClassNetwork, "this machine has no socket left for the call: " + op.Err.Error()
		}
		return assay.ClassUnreachable, "nothing answers at the endpoint: " + op.Err.Error()
	case isTLS(err):
		return assay.ClassUnreachable, insecure + ": " + firstLine(innermost(err).Error())
	case isProxyAnswer(err):
		return assay.ClassUnreachable, "the proxy that the environment names refused the connection: " + firstLine(innermost(err).Error())
	}
	return assay.ClassNetwork, "the connection broke during the call: " + firstLine(innermost(err).Error())
}

func isTLS(err error) bool {
	m := err.Error()
	return strings.Contains(m, "tls: ") || strings.Contains(m, "x509: ") || strings.Contains(m, "server gave HTTP response to HTTPS client")
}

// isProxyAnswer meets what net/http makes of a proxy's answer to CONNECT: the status line's words.
func isProxyAnswer(err error) bool {
	m := innermost(err).Error()
	for _, words := range []string{"Proxy Authentication Required", "Forbidden", "Bad Gateway", "Service Unavailable", "Gateway Timeout"} {
		if m == words {
			return true
		}
	}
	return false
}

// innermost leaves out the wrappers that repeat the URL.
func innermost(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

func firstLine(s string) string {
	const most = 400
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "�")), " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}
