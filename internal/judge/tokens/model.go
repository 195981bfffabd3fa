package tokens

import "strings"

const (
	o200k  = "o200k_base"
	cl100k = "cl100k_base"
)

// encodingOf knows OpenAI's models by name, as tiktoken's own table does (tiktoken/model.py), or "". A
// vendor's name in front is taken off where it says that the model is OpenAI's; another's may be a model
// of its own that is called like one.
func encodingOf(model string) string {
	name := strings.ToLower(model)
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		switch name[:i] {
		case "openai", "openrouter/openai", "azure", "azure_ai", "models/openai":
			name = name[i+1:]
		default:
			return ""
		}
	}
	name = strings.TrimPrefix(name, "ft:") // fine-tuned: ft:gpt-4.1-mini:acme::a1
	name, _, _ = strings.Cut(name, ":")    // a route at OpenRouter (:free), a size at Ollama (gpt-oss:20b)
	for _, family := range []struct{ prefix, encoding string }{
		{"gpt-4o", o200k}, {"chatgpt-4o", o200k}, {"gpt-4.1", o200k}, {"gpt-4.5", o200k}, {"gpt-5", o200k},
		{"o1", o200k}, {"o3", o200k}, {"o4", o200k}, {"codex-mini", o200k},
		{"gpt-oss", o200k}, // o200k_harmony: the same but for special tokens
		{"gpt-4", cl100k}, {"gpt-3.5", cl100k}, {"gpt-35-turbo", cl100k},
	} {
		rest, found := strings.CutPrefix(name, family.prefix)
		if found && (rest == "" || rest[0] == '-' || rest[0] == '.') {
			return family.encoding
		}
	}
	return ""
}
