package api

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"assay/internal/assay"
)

// GuardOptions say through which door requests come.
type GuardOptions struct {
	// Socket: a unix socket in the data folder. Its file mode decides who may; nothing else is checked.
	Socket bool
	// Hosts are names, without port, by which this server may be addressed besides the loopback names
	// and the address that the connection came in on.
	Hosts []string
	// Token, where not "", must come with every request but /healthz.
	Token string
	// Commands allows definitions that run commands. The socket always does.
	Commands bool
}

// Guard lets only those requests through to h that may reach it. No page of another site passes: its
// Origin and Sec-Fetch-Site give it away, and a name that was made to point here (DNS rebinding) is
// not on the list of hosts.
func Guard(h http.Handler, o GuardOptions) http.Handler {
	if o.Socket {
		return allowCommands(h, true)
	}
	g := &guard{options: o, token: sha256.Sum256([]byte(o.Token)), hosts: map[string]bool{"localhost": true}}
	for _, name := range o.Hosts {
		g.hosts[strings.ToLower(name)] = true
	}
	h = allowCommands(h, o.Commands)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := g.check(w, r); p != nil {
			writeProblem(w, p)
			return
		}
		h.ServeHTTP(w, r)
	})
}

type guard struct {
	options GuardOptions
	token   [sha256.Size]byte
	hosts   map[string]bool
	origin  http.CrossOriginProtection
}

func (g *guard) check(w http.ResponseWriter, r *http.Request) *Problem {
	if !g.knownHost(r) {
		return problemOf(assay.Errorf(assay.CodeForbidden, "host %s is not served here", quote(r.Host)).
			WithHint("address the server by localhost or by the address that it listens on, or name the host with --host"))
	}
	if g.foreign(r) {
		return problemOf(assay.Errorf(assay.CodeForbidden, "a page of another origin may not use this server").
			WithHint("open the server's own page, or use the API from a program"))
	}
	if g.options.Token != "" && r.URL.Path != "/healthz" && !g.knows(r) {
		w.Header().Add("WWW-Authenticate", `Bearer realm="assay"`)
		w.Header().Add("WWW-Authenticate", `Basic realm="assay", charset="UTF-8"`)
		return problemOf(assay.Errorf(assay.CodeUnauthorized, "no token or a wrong one").
			WithHint("set ASSAY_TOKEN; a browser asks for a password: that is the token"))
	}
	return nil
}

// knownHost compares names only: a port says nothing about who resolved the name.
func (g *guard) knownHost(r *http.Request) bool {
	host := (&url.URL{Host: r.Host}).Hostname()
	if g.hosts[strings.ToLower(host)] {
		return true
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return false
	}
	if ip.IsLoopback() {
		return true
	}
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok {
		return false
	}
	at, err := netip.ParseAddrPort(local.String())
	return err == nil && at.Addr().Unmap().WithZone("") == ip.Unmap().WithZone("")
}

// foreign says whether a page of another origin sent r. Requests that change something are judged by
// net/http; those that read are held to the same, except that a link from elsewhere may open a page.
func (g *guard) foreign(r *http.Request) bool {
	if g.origin.Check(r) != nil {
		return true
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		u, err := url.Parse(origin)
		if err != nil || u.Host != r.Host {
			return true
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none", "same-origin":
		return false
	}
	return r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document"
}

// knows says whether r brings the token, as a bearer token or as the password that a browser asks for.
func (g *guard) knows(r *http.Request) bool {
	scheme, given, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	switch {
	case strings.EqualFold(scheme, "bearer"):
	case strings.EqualFold(scheme, "basic"):
		_, given, _ = r.BasicAuth()
	default:
		return false
	}
	sum := sha256.Sum256([]byte(given))
	return subtle.ConstantTimeCompare(sum[:], g.token[:]) == 1
}

// CheckListen refuses an address beyond loopback without a token.
func CheckListen(addr, token string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return assay.Errorf(assay.CodeInvalid, "address %q is not HOST:PORT", addr).WithHint("for instance 127.0.0.1:7171")
	}
	ip, err := netip.ParseAddr(host)
	if token != "" || strings.EqualFold(host, "localhost") || (err == nil && ip.IsLoopback()) {
		return nil
	}
	return assay.Errorf(assay.CodeForbidden, "address %s is reachable from elsewhere and no token is set", addr).
		WithHint("set ASSAY_TOKEN or name a file that holds a token, or listen on 127.0.0.1")
}

type commandsKey struct{}

func allowCommands(h http.Handler, allowed bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), commandsKey{}, allowed)))
	})
}

// commandsAllowed says whether the door that a request came through takes definitions that run
// commands. Without a guard it does not.
func commandsAllowed(ctx context.Context) bool {
	allowed, _ := ctx.Value(commandsKey{}).(bool)
	return allowed
}

func quote(s string) string { return strconv.QuoteToASCII(s) }
