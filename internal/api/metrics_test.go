package api_test

import (
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/api"
)

// serveMetrics serves an API that has metrics, or none, through a guard.
func serveMetrics(t *testing.T, network, address string, h http.Handler, o api.GuardOptions) string {
	t.Helper()
	_, at := serve(t, network, address, api.Guard(api.New(api.Services{Metrics: h}), o))
	return at
}

// get asks for /metrics over a connection to address and returns the status and the body.
func get(t *testing.T, network, address string, header map[string]string) (*http.Response, string) {
	t.Helper()
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, Dial: func(string, string) (net.Conn, error) { return net.Dial(network, address) }}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		if k == "Host" {
			req.Host = v
		}
		req.Header.Set(k, v)
	}
	resp, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// Numbers tell names of judges and what was spent: nobody reads them who may not read all the rest.
func TestMetricsStandBehindTheGuard(t *testing.T) {
	numbers := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "assay_x 1\n") })
	tcp := serveMetrics(t, "tcp", "127.0.0.1:0", numbers, api.GuardOptions{Token: "t", Hosts: []string{"assay.example.org"}})
	socket := serveMetrics(t, "unix", filepath.Join(t.TempDir(), "s"), numbers, api.GuardOptions{Socket: true})
	bearer := "Bearer t"
	for name, c := range map[string]struct {
		network, address string
		header           map[string]string
		status           int
	}{
		"with the token":       {"tcp", tcp, map[string]string{"Authorization": bearer}, http.StatusOK},
		"by a name":            {"tcp", tcp, map[string]string{"Authorization": bearer, "Host": "assay.example.org:7171"}, http.StatusOK},
		"without the token":    {"tcp", tcp, nil, http.StatusUnauthorized},
		"with a wrong one":     {"tcp", tcp, map[string]string{"Authorization": "Bearer x"}, http.StatusUnauthorized},
		"by an unknown name":   {"tcp", tcp, map[string]string{"Authorization": bearer, "Host": "evil.example.org"}, http.StatusForbidden},
		"by a page of another": {"tcp", tcp, map[string]string{"Authorization": bearer, "Origin": "http://evil.example.org"}, http.StatusForbidden},
		"on the socket":        {"unix", socket, nil, http.StatusOK},
	} {
		resp, body := get(t, c.network, c.address, c.header)
		if resp.StatusCode != c.status || strings.Contains(body, "assay_x") != (c.status == http.StatusOK) {
			t.Errorf("%s: %d %s", name, resp.StatusCode, body)
		}
	}
}

func TestNoMetricsNoRoute(t *testing.T) {
	at := serveMetrics(t, "tcp", "127.0.0.1:0", nil, api.GuardOptions{})
	if resp, body := get(t, "tcp", at, nil); resp.StatusCode != http.StatusNotFound || !strings.Contains(resp.Header.Get("Content-Type"), "problem+json") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}
