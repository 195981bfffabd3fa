package provider

import (
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"assay/internal/assay"
	"assay/internal/judge/llm/llmtest"
)

// secure is a TLS server before a scripted one. Its certificate signs itself, for example.com and
// 127.0.0.1; the file holds it.
func secure(t *testing.T, script llmtest.Script) (server *httptest.Server, caFile string) {
	t.Helper()
	plain := llmtest.New(t, script)
	target, err := url.Parse(strings.TrimSuffix(plain.BaseURL, "/v1"))
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(target)
	through := &http.Transport{}
	t.Cleanup(through.CloseIdleConnections)
	pass.Transport, pass.ErrorLog = through, log.New(io.Discard, "", 0)
	server = httptest.NewUnstartedServer(pass)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	caFile = filepath.Join(t.TempDir(), "ca.pem")
	write(t, caFile, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})))
	return server, caFile
}

func TestACAFileIsTrustedBesideTheSystems(t *testing.T) {
	server, file := secure(t, llmtest.Always(llmtest.Verdict(yes)))
	base := server.URL + "/v1"
	c := newClient(t, base)
	if _, r := c.Send(t.Context(), ask(c)); r.Class != assay.ClassUnreachable || !strings.HasPrefix(r.Error, insecure) || !r.CallAt.IsZero() {
		t.Errorf("without the file: %q %q", r.Class, r.Error)
	}
	for _, as := range []change{as("", ChatCompletions, FormatSchema), as("anthropic", Messages, FormatSchema)} {
		c = newClient(t, base, as, func(s *Settings, _ *Params) { s.CAFile = file })
		if content, r := c.Send(t.Context(), ask(c)); r.Class != "" || content == "" {
			t.Errorf("with the file: %q %q", r.Class, r.Error)
		}
	}
	none := filepath.Join(t.TempDir(), "none")
	bad := filepath.Join(t.TempDir(), "bad")
	write(t, bad, "no certificate")
	for path, says := range map[string]string{none: "read the CA file", bad: "holds no certificate"} {
		_, err := New(Settings{BaseURL: base, CAFile: path}, Params{Model: "m", Format: FormatNone, MaxTokens: 1}, "", user, Env{})
		if assay.CodeOf(err) != assay.CodeInvalid || !strings.Contains(err.Error(), says) {
			t.Errorf("%v", err)
		}
	}
}

func TestClientsShareOneTransportPerCA(t *testing.T) {
	_, file := secure(t, nil)
	copied := filepath.Join(t.TempDir(), "copy.pem")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	write(t, copied, string(raw))
	shared := NewTransport()
	get := func(file string) http.RoundTripper {
		got, err := transportFor(shared, file)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if get("") != http.RoundTripper(shared) || get(file) != get(file) || get(file) != get(copied) || get(file) == get("") {
		t.Error("clients of one CA do not share their connections")
	}
	if other := http.RoundTripper(&http.Transport{}); func() bool { got, err := transportFor(other, ""); return err != nil || got != other }() {
		t.Error("a transport of the caller's own is not used")
	}
	if _, err := transportFor(&http.Transport{}, file); err == nil {
		t.Error("a CA file is dropped without a word")
	}
}

func TestConnectionsAreKept(t *testing.T) {
	var mu sync.Mutex
	from := map[string]bool{}
	server := llmtest.New(t, llmtest.Always(llmtest.Verdict(yes)))
	target, err := url.Parse(strings.TrimSuffix(server.BaseURL, "/v1"))
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(target)
	through := &http.Transport{}
	defer through.CloseIdleConnections()
	pass.Transport = through
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		from[r.RemoteAddr] = true
		mu.Unlock()
		pass.ServeHTTP(w, r)
	}))
	defer front.Close()
	transport := NewTransport()
	defer transport.CloseIdleConnections()
	for range 3 {
		c, err := New(Settings{BaseURL: front.URL + "/v1"}, Params{Model: "m", Format: FormatNone, MaxTokens: 9}, "", user, Env{Transport: transport})
		if err != nil {
			t.Fatal(err)
		}
		for range 5 {
			if _, r := c.Send(t.Context(), ask(c)); r.Class != "" {
				t.Fatalf("%+v", r)
			}
		}
	}
	if len(from) != 1 {
		t.Errorf("%d connections for calls one after the other", len(from))
	}
}

// forwarder is a proxy that knows one host, example.com, and remembers what it was asked for.
type forwarder struct {
	*httptest.Server
	mu    sync.Mutex
	asked []string
}

func newForwarder(t *testing.T, plain, tls string) *forwarder {
	f := &forwarder{}
	through := &http.Transport{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.mu.Lock()
		f.asked = append(f.asked, r.Method+" "+r.Host)
		f.mu.Unlock()
		if r.Method == http.MethodConnect {
			tunnel(w, tls)
			return
		}
		r.URL.Host, r.RequestURI = plain, ""
		resp, err := through.RoundTrip(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	}))
	t.Cleanup(func() { f.Close(); through.CloseIdleConnections() })
	return f
}

func tunnel(w http.ResponseWriter, to string) {
	there, err := net.Dial("tcp", to)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer there.Close()
	here, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer here.Close()
	if _, err := io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	done := make(chan struct{})
	go func() { defer close(done); _, _ = io.Copy(there, here); there.Close() }()
	_, _ = io.Copy(here, there)
	here.Close()
	<-done
}

// caller is set where this test binary is run again as callThroughProxy.
const caller = "PROVIDER_TEST_CALLER"

// net/http reads the environment once in a process, so the calls are another process's.
func TestProxiesOfTheEnvironment(t *testing.T) {
	behind := llmtest.New(t, llmtest.Always(llmtest.Verdict(yes)))
	server, file := secure(t, llmtest.Always(llmtest.Verdict(yes)))
	proxy := newForwarder(t, strings.TrimSuffix(strings.TrimPrefix(behind.BaseURL, "http://"), "/v1"), server.Listener.Addr().String())
	call := func(base string, env ...string) string {
		cmd := exec.Command(os.Args[0], "-test.run=^$")
		cmd.Env, cmd.Stderr = append(append(os.Environ(), env...), caller+"=1", "BASE="+base, "CA="+file), os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(string(out))
	}
	through := []string{"HTTP_PROXY=" + proxy.URL, "HTTPS_PROXY=" + proxy.URL, "NO_PROXY="}
	if got := call("http://example.com/v1", through...); got != "answered" {
		t.Errorf("http: %s", got)
	}
	if got := call("https://example.com/v1", through...); got != "answered" {
		t.Errorf("https: %s", got)
	}
	if got := strings.Join(proxy.asked, ", "); got != "POST example.com, CONNECT example.com:443" {
		t.Errorf("the proxy was asked for %s", got)
	}
	if got := call("http://no-such-host.invalid/v1", "HTTP_PROXY="+proxy.URL, "NO_PROXY=.invalid"); !strings.HasPrefix(got, string(assay.ClassUnreachable)) || !strings.Contains(got, "has no address") {
		t.Errorf("NO_PROXY: %s", got)
	}
	if n := len(proxy.asked); n != 2 {
		t.Errorf("the proxy was asked %d times although NO_PROXY leaves the host out", n)
	}
	if got := call("https://example.com/v1", "HTTPS_PROXY=http://127.0.0.1:1", "NO_PROXY="); !strings.HasPrefix(got, string(assay.ClassUnreachable)) || !strings.Contains(got, "proxy") {
		t.Errorf("a proxy that is not there: %s", got)
	}
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusProxyAuthRequired) }))
	defer refusing.Close()
	for _, base := range []string{"http://example.com/v1", "https://example.com/v1"} {
		if got := call(base, "HTTPS_PROXY="+refusing.URL, "HTTP_PROXY="+refusing.URL, "NO_PROXY="); !strings.HasPrefix(got, string(assay.ClassUnreachable)) || !strings.Contains(got, "proxy") {
			t.Errorf("a proxy that wants a login, %s: %s", base, got)
		}
	}
}

// callThroughProxy is the other process.
func callThroughProxy() {
	c, err := New(Settings{BaseURL: os.Getenv("BASE"), CAFile: os.Getenv("CA")}, Params{Model: "m", Format: FormatNone, MaxTokens: 9}, "", user, Env{})
	if err != nil {
		fmt.Println(err)
		return
	}
	content, r := c.Send(noContext(), ask(c))
	if content != "" {
		fmt.Println("answered")
		return
	}
	fmt.Println(r.Class, r.Error)
}
