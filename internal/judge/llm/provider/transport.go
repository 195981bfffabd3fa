package provider

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"sync"

	"assay/internal/assay"
)

// Transport is shared by all clients of a process: thousands of calls keep their connections, one pool
// for those that trust the system's authorities alone and one for each further CA file. Proxies are
// those of the environment.
type Transport struct {
	plain *http.Transport

	mu   sync.Mutex
	byCA map[string]*http.Transport
}

// NewTransport makes one without any connection.
func NewTransport() *Transport {
	return &Transport{plain: newTransport(nil), byCA: map[string]*http.Transport{}}
}

func newTransport(roots *x509.CertPool) *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = http.ProxyFromEnvironment
	t.MaxIdleConns = 0
	t.MaxIdleConnsPerHost = 1024
	t.MaxConnsPerHost = 0
	t.ForceAttemptHTTP2 = true
	t.WriteBufferSize = 16 << 10 // a short question leaves in one piece
	t.ResponseHeaderTimeout = 0  // every call has its own deadline
	if roots != nil {
		t.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return t
}

// RoundTrip calls without a CA file.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) { return t.plain.RoundTrip(r) }

// CloseIdleConnections closes what no call uses.
func (t *Transport) CloseIdleConnections() {
	t.plain.CloseIdleConnections()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, one := range t.byCA {
		one.CloseIdleConnections()
	}
}

// trusting is the transport that trusts the authorities of the file as well. Files of equal content
// share one.
func (t *Transport) trusting(file string) (http.RoundTripper, error) {
	pem, pool, err := readCA(file)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.byCA[pem]
	if one == nil {
		one = newTransport(pool)
		t.byCA[pem] = one
	}
	return one, nil
}

func readCA(file string) (pem string, pool *x509.CertPool, err error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return "", nil, invalid("ca_file", "read the CA file: %w", err).WithHint("give the path of a PEM file that the process which drives runs can read")
	}
	if pool, err = x509.SystemCertPool(); err != nil {
		pool = x509.NewCertPool() // a machine without authorities of its own trusts the file alone
	}
	if !pool.AppendCertsFromPEM(raw) {
		return "", nil, invalid("ca_file", "the CA file %s holds no certificate", file).WithHint("it must be PEM: -----BEGIN CERTIFICATE-----")
	}
	return string(raw), pool, nil
}

// transportFor is the transport of a client.
func transportFor(shared http.RoundTripper, caFile string) (http.RoundTripper, error) {
	t, ours := shared.(*Transport)
	switch {
	case shared == nil:
		t = NewTransport()
	case !ours && caFile == "":
		return shared, nil
	case !ours:
		return nil, assay.Errorf(assay.CodeInternal, "a CA file needs the transport of this package")
	}
	if caFile == "" {
		return t, nil
	}
	return t.trusting(caFile)
}
