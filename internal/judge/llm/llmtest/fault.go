package llmtest

import (
	"net/http"
	"time"

	"assay/internal/assay"
)

// Fault is one way in which a call goes wrong, as a provider shows it.
type Fault struct {
	Name  string
	Step  Step
	Class assay.Class   // that a judge's reply has; "" where its parser finds the answer all the same
	Text  bool          // the text arrives whole, and the parser decides
	Wait  time.Duration // that the provider asks for; 0 where it asks for none
}

// Names of the faults that every provider has.
const (
	FaultDaily     = "daily quota 429"
	FaultMinute    = "per-minute 429"
	FaultKey       = "401"
	FaultModel     = "404 model"
	FaultBusy      = "overloaded"
	FaultContext   = "context length"
	FaultFilter    = "content filter"
	FaultLength    = "length cut"
	FaultRefusal   = "refusal"
	FaultTool      = "tool call with invalid JSON"
	FaultFenced    = "fenced JSON"
	FaultProse     = "prose around JSON"
	FaultTwo       = "two JSON objects"
	FaultEmpty     = "empty"
	FaultMoney     = "no money left"
	FaultPath      = "404 path"
	FaultLarge     = "413"
	FaultServer    = "500"
	FaultGateway   = "gateway page"
	FaultOrigin    = "Cloudflare 522 page"
	FaultPage      = "page with status 200"
	FaultStream    = "event stream"
	FaultCutStream = "event stream cut in the middle"
	FaultCut       = "cut before the answer"
	FaultCutBody   = "cut in the body"
	FaultCutChunk  = "cut in a body of unknown length"
	FaultHalf      = "half a body"
	FaultRedirect  = "redirect"
)

// Faults lists what can go wrong at a provider ("" is any compatible server). values are the answer
// that a well-behaved model would give, for the faults that spoil it. Steps answer in the protocol of
// the request.
func Faults(provider string, values map[string]any) []Fault {
	all := spoilt(values)
	all = append(all, wire()...)
	all = append(all, shared(provider)...)
	return append(all, own(provider)...)
}

// FaultOf is the named one of Faults.
func FaultOf(provider, name string, values map[string]any) Fault {
	for _, f := range Faults(provider, values) {
		if f.Name == name {
			return f
		}
	}
	panic("no fault is named " + name) // a script that names none
}

// spoilt are answers with status 200 that are not as they should be.
func spoilt(values map[string]any) []Fault {
	other := map[string]any{}
	for name, value := range values {
		if b, ok := value.(bool); ok {
			value = !b
		}
		if f, ok := value.(Finding); ok {
			f.Reason += ", or not"
			value = f
		}
		other[name] = value
	}
	wrote := func(text func(*Request) string) Step {
		return Step{status: http.StatusOK, body: func(r *Request) string { return completion(r, output{text: text(r), finish: "stop"}) }}
	}
	return []Fault{
		{Name: FaultFenced, Text: true, Step: wrote(func(r *Request) string { return "```json\n" + Answer(r.Token(), values) + "\n```" })},
		{Name: FaultProse, Text: true, Step: wrote(func(r *Request) string {
			return "Here is my verdict: " + Answer(r.Token(), values) + " I hope that helps."
		})},
		{Name: FaultTwo, Text: true, Class: assay.ClassMalformed, Step: wrote(func(r *Request) string { return Answer(r.Token(), values) + "\n" + Answer(r.Token(), other) })},
		{Name: FaultEmpty, Class: assay.ClassMalformed, Step: Empty()},
		{Name: FaultTool, Class: assay.ClassMalformed, Step: Called(`{"answer_token": "0123", "resolved": {"reason": "it`)},
		{Name: FaultRefusal, Class: assay.ClassRefused, Step: Refusal("I cannot help with that.")},
		{Name: FaultLength, Class: assay.ClassTruncated, Step: Truncated(values)},
	}
}

// wire are failures of what lies between, the same everywhere.
func wire() []Fault {
	return []Fault{
		{Name: FaultPath, Class: assay.ClassUnreachable, Step: Status(http.StatusNotFound, `{"detail":"Not Found"}`)},
		{Name: FaultLarge, Class: assay.ClassContextTooLong, Step: Page(http.StatusRequestEntityTooLarge, "413 Request Entity Too Large")},
		{Name: FaultGateway, Class: assay.ClassProviderError, Step: Page(http.StatusBadGateway, "502 Bad Gateway")},
		{Name: FaultOrigin, Class: assay.ClassProviderError, Step: Page(522, "api.example.com | 522: Connection timed out")},
		{Name: FaultPage, Class: assay.ClassMalformed, Step: Page(http.StatusOK, "Sign in")},
		{Name: FaultStream, Class: assay.ClassMalformed, Step: Stream()},
		{Name: FaultCutStream, Class: assay.ClassNetwork, Step: CutStream()},
		{Name: FaultCut, Class: assay.ClassNetwork, Step: Cut()},
		{Name: FaultCutBody, Class: assay.ClassNetwork, Step: CutBody()},
		{Name: FaultCutChunk, Class: assay.ClassNetwork, Step: CutChunk()},
		{Name: FaultHalf, Class: assay.ClassNetwork, Step: Half()},
		{Name: FaultRedirect, Class: assay.ClassUnreachable, Step: Status(http.StatusTemporaryRedirect, "", "Location", "https://elsewhere.example/v1/chat/completions")},
	}
}

// shared are faults that look alike at most providers; own may tell a second form of them.
func shared(provider string) []Fault {
	if provider == "anthropic" {
		return nil
	}
	return []Fault{{Name: FaultServer, Class: assay.ClassProviderError, Step: ServerError()}}
}

// own are a provider's own words.
func own(provider string) []Fault {
	switch provider {
	case "openai":
		return openAIFaults()
	case "anthropic":
		return anthropicFaults()
	case "azure":
		return azureFaults()
	case "gemini":
		return geminiFaults()
	case "openrouter":
		return openRouterFaults()
	case "vllm":
		return vllmFaults()
	case "ollama":
		return ollamaFaults()
	case "litellm":
		return liteLLMFaults()
	}
	return compatibleFaults()
}
