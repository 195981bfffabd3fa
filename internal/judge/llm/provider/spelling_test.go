package provider

import (
	"encoding/json"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"assay/internal/judge/llm/llmtest"
)

// A key of base64's alphabet, or an odd one, is masked however the server spells it: in an address, with
// escaped slashes, as JSON inside JSON.
func TestKeysAreMaskedInEverySpelling(t *testing.T) {
	twice := func(s string) string {
		for range 2 {
			raw, err := json.Marshal(s)
			if err != nil {
				t.Fatal(err)
			}
			s = string(raw[1 : len(raw)-1])
		}
		return s
	}
	for _, key := range []string{"sk-a1/b2+c3==d4/e5&f6", `sk-a1"b2\c3/d4`} {
		for name, spelled := range map[string]string{
			"path": url.PathEscape(key), "query": url.QueryEscape(key), "twice": twice(key),
			"slashes": strings.ReplaceAll(jsonOnce(t, key), "/", `\/`),
		} {
			path := filepath.Join(t.TempDir(), "key")
			write(t, path, key)
			step := llmtest.Status(400, `{"error":{"message":"`+spelled+`"}}`)
			if name == "path" {
				step = llmtest.Status(307, "", "Location", "https://elsewhere.example/"+spelled)
			}
			server := llmtest.New(t, llmtest.Always(step))
			c := newClient(t, server.BaseURL, fromFile(path))
			_, r := c.Send(t.Context(), ask(c))
			all := r.Error + "\n" + r.Raw
			if strings.Contains(all, spelled) || strings.Contains(all, key) || !strings.Contains(all, "[key]") {
				t.Errorf("%s of %s: %s", name, key, all)
			}
		}
	}
}

func jsonOnce(t *testing.T, s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw[1 : len(raw)-1])
}
