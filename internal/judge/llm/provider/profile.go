package provider

import (
	"cmp"
	"slices"
	"strings"
)

// Profile is what is known of a provider. Its zero fields say nothing.
type Profile struct {
	Name           string // of Settings.Provider
	BaseURL        string // "" has to be given
	APIs           []API  // that it speaks, the default first
	KeyEnv         string // the variable that its own documents name; "" needs no key
	MaxTokensField string // that bounds the output of chat_completions
	Format         string
	System         string // gen_ai.provider.name of OpenTelemetry
	Notes          string // one or two sentences for people
	keyHeader      string // "" is the protocol's own: Authorization: Bearer, or X-Api-Key for messages
	reasoningFixed bool   // refuses temperature, top_p and seed of a reasoning model
	reasoningField string // of chat_completions: reasoning_effort, or reasoning for an object with effort
	strictTools    bool   // knows strict and parallel_tool_calls
	hosts          []string
}

// profiles is the one table of providers. The last one stands for any compatible server.
func profiles() []Profile {
	return []Profile{
		{Name: "openai", BaseURL: "https://api.openai.com/v1", APIs: []API{ChatCompletions, Responses}, KeyEnv: "OPENAI_API_KEY",
			MaxTokensField: "max_completion_tokens", Format: FormatSchema, System: "openai", hosts: []string{"api.openai.com"},
			reasoningFixed: true, reasoningField: "reasoning_effort", strictTools: true,
			Notes: "Reasoning models refuse temperature and top_p. Responses are asked for with store: false."},
		{Name: "anthropic", BaseURL: "https://api.anthropic.com", APIs: []API{Messages}, KeyEnv: "ANTHROPIC_API_KEY",
			Format: FormatSchema, System: "anthropic", hosts: []string{"api.anthropic.com"}, reasoningFixed: true,
			Notes: "Models before Claude 4.5 have no json_schema: use response_format: tool. A model that thinks cannot be forced to call a tool."},
		{Name: "azure", APIs: []API{ChatCompletions, Responses}, KeyEnv: "AZURE_OPENAI_API_KEY",
			MaxTokensField: "max_completion_tokens", Format: FormatSchema, System: "azure.ai.openai", hosts: []string{".openai.azure.com", ".services.ai.azure.com", ".cognitiveservices.azure.com"},
			keyHeader: "Api-Key", reasoningFixed: true, reasoningField: "reasoning_effort", strictTools: true,
			Notes: "base_url is the resource (https://NAME.openai.azure.com), its /openai/v1, or with api_version a deployment of it. model is the deployment's name."},
		{Name: "gemini", BaseURL: "https://generativelanguage.googleapis.com/v1beta/openai", APIs: []API{ChatCompletions}, KeyEnv: "GEMINI_API_KEY",
			MaxTokensField: "max_completion_tokens", Format: FormatSchema, System: "gcp.gemini", hosts: []string{"generativelanguage.googleapis.com"}, reasoningField: "reasoning_effort",
			Notes: "The OpenAI-compatible endpoint of the Gemini API. Thinking counts against max_tokens."},
		{Name: "vllm", BaseURL: "http://localhost:8000/v1", APIs: []API{ChatCompletions, Responses}, MaxTokensField: "max_tokens",
			Format: FormatSchema, System: "vllm", reasoningField: "reasoning_effort",
			Notes: "Needs a key only when it was started with --api-key."},
		{Name: "ollama", BaseURL: "http://localhost:11434/v1", APIs: []API{ChatCompletions, Responses}, MaxTokensField: "max_tokens",
			Format: FormatSchema, System: "ollama", reasoningField: "reasoning_effort",
			Notes: "Ollama cuts a prompt that does not fit its num_ctx without a word: set OLLAMA_CONTEXT_LENGTH, and the same context_tokens here."},
		{Name: "openrouter", BaseURL: "https://openrouter.ai/api/v1", APIs: []API{ChatCompletions}, KeyEnv: "OPENROUTER_API_KEY", MaxTokensField: "max_tokens",
			Format: FormatSchema, System: "openrouter", hosts: []string{"openrouter.ai"}, reasoningField: "reasoning", strictTools: true,
			Notes: "Routes to providers of which not all know json_schema: extra `provider: {require_parameters: true}` keeps to those that do."},
		{Name: "litellm", BaseURL: "http://localhost:4000/v1", APIs: []API{ChatCompletions, Responses, Messages}, KeyEnv: "LITELLM_API_KEY", MaxTokensField: "max_tokens",
			Format: FormatSchema, System: "litellm", reasoningField: "reasoning_effort",
			Notes: "Keep its own retries at 0 (num_retries): a second layer multiplies calls and hides 429s from the limiter."},
		compatible(),
	}
}

// compatibleName is what an empty name means too.
const compatibleName = "compatible"

// compatible is any server that speaks one of the protocols.
func compatible() Profile {
	return Profile{Name: compatibleName, APIs: []API{ChatCompletions, Responses, Messages}, MaxTokensField: "max_tokens", Format: FormatSchema, System: "openai", reasoningField: "reasoning_effort",
		Notes: "Any server that speaks Chat Completions, Responses or Messages."}
}

// Profiles are the known providers, sorted as documents show them; the last stands for any compatible
// server.
func Profiles() []Profile { return profiles() }

// ProfileOf finds a profile by its name; no name is that of any compatible server.
func ProfileOf(name string) (Profile, bool) {
	name = cmp.Or(name, compatibleName)
	all := profiles()
	i := slices.IndexFunc(all, func(p Profile) bool { return p.Name == name })
	if i < 0 {
		return Profile{}, false
	}
	return all[i], true
}

// profileAt knows the provider by the host of a base URL; "" where it is none of ours.
func profileAt(host string) string {
	host, _, _ = strings.Cut(host, ":")
	for _, p := range profiles() {
		for _, h := range p.hosts {
			if host == h || h[0] == '.' && strings.HasSuffix(host, h) {
				return p.Name
			}
		}
	}
	return ""
}
