package provider

import (
	"testing"

	"github.com/tidwall/gjson"
)

// OpenRouter may send a call to a dearer server than its list tells, and says what it asks.
func TestARouterSaysWhatItBills(t *testing.T) {
	for body, want := range map[string]string{
		`{"usage":{"prompt_tokens":10,"completion_tokens":1,"cost":0.00014}}`: "0.00014",
		`{"usage":{"cost":0}}`:        "0.00",
		`{"usage":{"cost":"0.1"}}`:    "",
		`{"usage":{"cost":-1}}`:       "",
		`{"usage":{"cost":1e300}}`:    "",
		`{"usage":{"cost":null}}`:     "",
		`{"usage":{}}`:                "",
		`{"usage":{"cost":1e-10}}`:    "0.000000001", // rounded up
		`{"usage":{"cost":0.0000001}`: "0.0000001",
	} {
		got := ""
		if b := billed("openrouter", gjson.Parse(body)); b != nil {
			got = b.String()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
		if b := billed("openai", gjson.Parse(body)); b != nil {
			t.Errorf("another provider's cost was taken: %s", *b)
		}
	}
}
