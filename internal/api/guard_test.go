package api

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"assay/internal/assay"
)

// guarded serves a handler that says when it was reached.
func guarded(t *testing.T, o GuardOptions) (srv *httptest.Server, reached *int) {
	t.Helper()
	reached = new(int)
	srv = httptest.NewServer(Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*reached++
		_, _ = io.WriteString(w, "secret")
	}), o))
	t.Cleanup(srv.Close)
	return srv, reached
}

func request(t *testing.T, method, url string, header map[string]string) *http.Response {
	t.Helper()
	req, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for k, v := range header {
		if k == "Host" {
			req.Host = v
			continue
		}
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body)
	resp.Body.Close()
	return resp
}

func TestGuardRefusesOtherOrigins(t *testing.T) {
	srv, reached := guarded(t, GuardOptions{})
	port := srv.URL[strings.LastIndex(srv.URL, ":"):]
	for name, c := range map[string]struct {
		method string
		header map[string]string
		ok     bool
	}{
		"a program":                           {"POST", nil, true},
		"a program reads":                     {"GET", nil, true},
		"our own page":                        {"POST", map[string]string{"Origin": srv.URL, "Sec-Fetch-Site": "same-origin"}, true},
		"our own page reads":                  {"GET", map[string]string{"Sec-Fetch-Site": "same-origin"}, true},
		"a person types the address":          {"GET", map[string]string{"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, true},
		"a link elsewhere":                    {"GET", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}, true},
		"by the name localhost":               {"GET", map[string]string{"Host": "localhost" + port}, true},
		"by the name LOCALHOST":               {"GET", map[string]string{"Host": "LOCALHOST" + port}, true},
		"another origin starts":               {"POST", map[string]string{"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site"}, false},
		"another origin starts, old browser":  {"POST", map[string]string{"Origin": "http://evil.example"}, false},
		"another origin, method override":     {"DELETE", map[string]string{"Origin": "http://evil.example"}, false},
		"another port of this machine starts": {"POST", map[string]string{"Origin": "http://127.0.0.1:1", "Sec-Fetch-Site": "same-site"}, false},
		"another origin reads":                {"GET", map[string]string{"Origin": "http://evil.example", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "cors"}, false},
		"another origin reads, old browser":   {"GET", map[string]string{"Origin": "http://evil.example"}, false},
		"another port of this machine reads":  {"GET", map[string]string{"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}, false},
		"a sandboxed page reads":              {"GET", map[string]string{"Origin": "null"}, false},
		"an image elsewhere":                  {"GET", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"}, false},
		"a frame elsewhere":                   {"GET", map[string]string{"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"}, false},
		"rebound name reads":                  {"GET", map[string]string{"Host": "evil.example" + port, "Sec-Fetch-Site": "same-origin"}, false},
		"rebound name starts":                 {"POST", map[string]string{"Host": "evil.example" + port, "Origin": "http://evil.example" + port, "Sec-Fetch-Site": "same-origin"}, false},
		"rebound name like ours":              {"GET", map[string]string{"Host": "localhost.evil.example" + port}, false},
		"rebound name with a dot":             {"GET", map[string]string{"Host": "127.0.0.1.evil.example" + port}, false},
		"an address that is not ours":         {"GET", map[string]string{"Host": "192.0.2.7" + port}, false},
	} {
		*reached = 0
		resp := request(t, c.method, srv.URL+"/api/v1/runs", c.header)
		if ok := *reached == 1; ok != c.ok {
			t.Errorf("%s: reached the handler: %t, answer %s", name, ok, resp.Status)
		}
		if !c.ok && resp.StatusCode != http.StatusForbidden {
			t.Errorf("%s: %s", name, resp.Status)
		}
		if resp.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: another origin was allowed to read", name)
		}
	}
}

func TestGuardTakesNamedHosts(t *testing.T) {
	srv, reached := guarded(t, GuardOptions{Hosts: []string{"Assay.Example.org"}})
	for host, ok := range map[string]bool{"assay.example.org": true, "assay.example.org:7171": true, "evil.example": false, "": true} {
		*reached = 0
		header := map[string]string{}
		if host != "" {
			header["Host"] = host
		}
		request(t, "GET", srv.URL, header)
		if (*reached == 1) != ok {
			t.Errorf("host %q reached the handler: %t", host, *reached == 1)
		}
	}
}

func TestGuardAsksForTheToken(t *testing.T) {
	const token = "correct horse battery staple"
	srv, reached := guarded(t, GuardOptions{Token: token})
	basic := func(s string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(s)) }
	for given, ok := range map[string]bool{
		"": false, "Bearer ": false, "Bearer x": false, "Bearer " + token + "x": false, token: false,
		"Bearer " + token: true, "bearer " + token: true,
		basic("anyone:" + token): true, basic(":" + token): true, basic(token + ":"): false, "Basic ???": false,
	} {
		*reached = 0
		resp := request(t, "GET", srv.URL+"/api/v1/runs", map[string]string{"Authorization": given})
		if (*reached == 1) != ok {
			t.Errorf("%q reached the handler: %t", given, *reached == 1)
		}
		if !ok && (resp.StatusCode != http.StatusUnauthorized || len(resp.Header.Values("WWW-Authenticate")) != 2) {
			t.Errorf("%q: %s %v", given, resp.Status, resp.Header)
		}
	}
	*reached = 0
	if request(t, "GET", srv.URL+"/healthz", nil); *reached != 1 {
		t.Error("health is not told without a token")
	}
	// A token is no way round the other checks.
	*reached = 0
	if request(t, "POST", srv.URL, map[string]string{"Authorization": "Bearer " + token, "Origin": "http://evil.example"}); *reached != 0 {
		t.Error("a browser's stored password let another origin in")
	}
}

func TestSocketChecksNothingAndAllowsCommands(t *testing.T) {
	for name, c := range map[string]struct {
		options GuardOptions
		allowed bool
	}{
		"socket":       {GuardOptions{Socket: true, Token: "x"}, true},
		"tcp":          {GuardOptions{}, false},
		"tcp, allowed": {GuardOptions{Commands: true}, true},
	} {
		var allowed, reached bool
		h := Guard(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			reached, allowed = true, commandsAllowed(r.Context())
		}), c.options)
		r := httptest.NewRequest("POST", "http://localhost/", nil)
		if c.options.Socket {
			r.Host = "anything"
		}
		h.ServeHTTP(httptest.NewRecorder(), r)
		if !reached || allowed != c.allowed {
			t.Errorf("%s: reached %t, commands allowed %t", name, reached, allowed)
		}
	}
	if commandsAllowed(t.Context()) {
		t.Error("commands are allowed without a guard")
	}
}

func TestCheckListen(t *testing.T) {
	for addr, want := range map[string]assay.Code{
		"127.0.0.1:7171": "", "127.9.9.9:0": "", "[::1]:7171": "", "localhost:7171": "",
		":7171": assay.CodeForbidden, "0.0.0.0:7171": assay.CodeForbidden, "[::]:7171": assay.CodeForbidden,
		"192.168.1.2:7171": assay.CodeForbidden, "example.org:7171": assay.CodeForbidden, "localhost.example.org:1": assay.CodeForbidden,
		"7171": assay.CodeInvalid, "": assay.CodeInvalid,
	} {
		err := CheckListen(addr, "")
		if (err == nil) != (want == "") || (err != nil && assay.CodeOf(err) != want) {
			t.Errorf("%q: %v", addr, err)
		}
		if want != assay.CodeInvalid && CheckListen(addr, "token") != nil {
			t.Errorf("%q is refused with a token", addr)
		}
	}
}
