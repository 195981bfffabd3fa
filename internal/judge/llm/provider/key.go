package provider

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"assay/internal/definition"
)

// Keys gives the key from the one source that settings name, and remembers every key that it gave, so
// that none of them stays in a text. Clients that share one share what its source gave, too: a program
// that prints the key runs once for all of them.
type Keys struct {
	source keySource
	mu     sync.Mutex               // held while seen is replaced
	seen   atomic.Pointer[[]string] // what is masked: keys in all their spellings
}

// keySource is where a key comes from.
type keySource interface {
	// key is the key as it is now. The error is one sentence for people that says what to set.
	key(ctx context.Context) (string, error)
	// name says where the key comes from.
	name() string
	// refused forgets a key that the provider did not take, so that the next one is asked for anew.
	refused(key string)
}

// NewKeys looks at the source that complete settings name; it asks for nothing yet.
func NewKeys(s Settings, env Env) *Keys {
	k := &Keys{}
	switch {
	case s.KeyEnv != "":
		k.source = variable{s.KeyEnv, env.LookupEnv}
	case s.KeyFile != "":
		k.source = &keyFile{path: s.KeyFile}
	case len(s.KeyCommand) > 0:
		k.source = &keyCommand{argv: s.KeyCommand, env: definition.SecretEnv(env.LookupEnv), most: commandLimit, now: time.Now}
	}
	return k
}

// get is "" without an error where no source is named.
func (k *Keys) get(ctx context.Context) (string, error) {
	if k.source == nil {
		return "", nil
	}
	key, err := k.source.key(ctx)
	if err != nil {
		return "", err
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "", errors.New("the key holds a control character or more than one line; give the key alone")
	}
	k.remember(key)
	return key, nil
}

// refused asks for the key again after a 401.
func (k *Keys) refused(ctx context.Context, key string) (other string, changed bool) {
	if k.source == nil {
		return "", false
	}
	k.source.refused(key)
	other, err := k.get(ctx)
	return other, err == nil && other != key
}

// shortest is the length under which a key is no secret: vLLM's EMPTY, Ollama's ollama. Masking such
// words would spoil every text that holds them.
const shortest = 8

// mostSeen bounds what is remembered of a source that gives a new key each time.
const mostSeen = 256

func (k *Keys) remember(key string) {
	if len(key) < shortest || slices.Contains(k.all(), key) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	all := k.all()
	if slices.Contains(all, key) {
		return
	}
	all = append(slices.Clone(all), spellings(key)...)
	if len(all) > mostSeen {
		all = all[len(all)-mostSeen:]
	}
	k.seen.Store(&all)
}

// spellings are a key and how servers write it when they repeat it: inside JSON, with slashes escaped or
// not, inside JSON that stands in JSON, and in an address. Most keys have one.
func spellings(key string) []string {
	inside := func(s string, html bool) string {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(html)
		if e.Encode(s) != nil {
			return s
		}
		return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(b.String(), "\n"), `"`), `"`)
	}
	all := []string{key, url.PathEscape(key), url.QueryEscape(key)}
	once := []string{inside(key, true), inside(key, false)}
	for _, s := range once {
		once = append(once, strings.ReplaceAll(s, "/", `\/`))
	}
	for _, s := range once {
		all = append(all, s, inside(s, false))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (k *Keys) all() []string {
	if all := k.seen.Load(); all != nil {
		return *all
	}
	return nil
}

// Mask takes the keys that were used out of a text that a response brought.
func (c *Client) Mask(s string) string { return c.keys.mask(s) }

// mask takes the keys out of what somebody said about them.
func (k *Keys) mask(s string) string {
	for _, key := range k.all() {
		s = strings.ReplaceAll(s, key, "[key]")
	}
	return s
}

func (k *Keys) maskBytes(b []byte) []byte {
	for _, key := range k.all() {
		if bytes.Contains(b, []byte(key)) {
			b = bytes.ReplaceAll(b, []byte(key), []byte("[key]"))
		}
	}
	return b
}

// variable is a key in the environment.
type variable struct {
	called string
	lookup func(string) (string, bool)
}

func (v variable) key(context.Context) (string, error) {
	if v.lookup != nil {
		if key, _ := v.lookup(v.called); strings.TrimSpace(key) != "" {
			return strings.TrimSpace(key), nil
		}
	}
	return "", fmt.Errorf("the environment variable %s, which should hold the key, is not set where the runs are driven", v.called)
}

func (v variable) name() string { return v.called }

func (variable) refused(string) {}
