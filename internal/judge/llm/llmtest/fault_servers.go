package llmtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"assay/internal/assay"
)

// googleProblem is Google's error object, which its compatible endpoint wraps in a list.
func googleProblem(status int, word, message string, details ...string) Step {
	list := "["
	for i, d := range details {
		if i > 0 {
			list += ","
		}
		list += d
	}
	return Status(status, fmt.Sprintf(`[{"error":{"code":%d,"message":%s,"status":%q,"details":%s]}}]`, status, marshal(message), word, list))
}

func googleQuota(ids ...string) string {
	var violations []map[string]string
	for _, id := range ids {
		violations = append(violations, map[string]string{"quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests", "quotaId": id, "quotaValue": "20"})
	}
	return `{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":` + marshal(violations) + `}`
}

func geminiFaults() []Fault {
	const exceeded = "You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.\n* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_requests, limit: 20\nPlease retry in 23.5s."
	const retry = `{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"23s"}`
	finish := func(reason string) Step {
		return Step{status: http.StatusOK, body: func(r *Request) string {
			return `{"choices":[{"finish_reason":` + strconv.Quote(reason) + `,"index":0,"message":{"role":"assistant"}}],"created":1,"id":"g","model":"m","object":"chat.completion","usage":{"prompt_tokens":9,"completion_tokens":0,"total_tokens":9}}`
		}}
	}
	return []Fault{
		{Name: FaultDaily, Class: assay.ClassQuota, Step: googleProblem(429, "RESOURCE_EXHAUSTED", exceeded, googleQuota("GenerateRequestsPerDayPerProjectPerModel-FreeTier"), retry)},
		{Name: FaultDaily + ", beside others", Class: assay.ClassQuota, Step: googleProblem(429, "RESOURCE_EXHAUSTED", exceeded, googleQuota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier", "GenerateRequestsPerDayPerProjectPerModel-FreeTier"), retry)},
		{Name: FaultDaily + ", new code", Class: assay.ClassQuota, Step: googleProblem(429, "quota_exceeded", "You exceeded your daily quota.")},
		{Name: FaultMinute, Class: assay.ClassRateLimited, Wait: 23 * time.Second, Step: googleProblem(429, "RESOURCE_EXHAUSTED", exceeded, googleQuota("GenerateRequestsPerMinutePerProjectPerModel-FreeTier"), retry)},
		{Name: FaultMinute + ", in words", Class: assay.ClassRateLimited, Wait: 45578 * time.Millisecond, Step: googleProblem(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan and billing details. Please retry in 45.578s.")},
		{Name: FaultMinute + ", without a word", Class: assay.ClassRateLimited, Step: googleProblem(429, "RESOURCE_EXHAUSTED", "Resource has been exhausted (e.g. check quota).")},
		{Name: FaultMoney, Class: assay.ClassQuota, Step: googleProblem(429, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted. Please go to AI Studio to manage your project and billing.")},
		{Name: FaultKey, Class: assay.ClassBadCredentials, Step: googleProblem(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}`)},
		{Name: "403", Class: assay.ClassBadCredentials, Step: googleProblem(403, "PERMISSION_DENIED", "Generative Language API has not been used in project 1 before or it is disabled.")},
		{Name: FaultModel, Class: assay.ClassModelMissing, Step: googleProblem(404, "NOT_FOUND", "models/m is not found for API version v1main, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.")},
		{Name: FaultBusy, Class: assay.ClassProviderError, Step: googleProblem(503, "UNAVAILABLE", "The model is overloaded. Please try again later.")},
		{Name: FaultContext, Class: assay.ClassContextTooLong, Step: googleProblem(400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).")},
		{Name: FaultFilter, Class: assay.ClassContentFiltered, Step: finish("content_filter: PROHIBITED_CONTENT")},
		{Name: FaultFilter + ", own word", Class: assay.ClassContentFiltered, Step: finish("SAFETY")},
		{Name: FaultFilter + ", of the prompt", Class: assay.ClassContentFiltered, Step: Status(200, `{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usage":{"prompt_tokens":9,"completion_tokens":0,"total_tokens":9}}`)},
		{Name: FaultLength + ", own word", Class: assay.ClassTruncated, Step: finish("MAX_TOKENS")},
		{Name: "bad parameter", Class: assay.ClassJudgeError, Step: googleProblem(400, "INVALID_ARGUMENT", `Invalid JSON payload received. Unknown name "seed": Cannot find field.`)},
	}
}

func openRouterFaults() []Fault {
	problem := func(status int, message string, metadata map[string]any, header ...string) Step {
		return Status(status, marshal(map[string]any{"error": map[string]any{"message": message, "code": status, "metadata": metadata}, "user_id": "user_x"}), header...)
	}
	midnight := time.Now().Add(5 * time.Hour)
	stamp := strconv.FormatInt(midnight.UnixMilli(), 10)
	limits := map[string]any{"headers": map[string]any{"X-RateLimit-Limit": "50", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": stamp}}
	return []Fault{
		{Name: FaultDaily, Class: assay.ClassQuota, Wait: 5 * time.Hour, Step: problem(429, "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day", limits, "X-RateLimit-Limit", "50", "X-RateLimit-Remaining", "0", "X-RateLimit-Reset", stamp)},
		{Name: FaultDaily + ", told in the body", Class: assay.ClassQuota, Wait: 5 * time.Hour, Step: problem(429, "Rate limit exceeded: free-models-per-day-high-balance.", limits)},
		{Name: FaultMinute, Class: assay.ClassRateLimited, Wait: 42 * time.Second, Step: problem(429, "Rate limit exceeded: free-models-per-min.", map[string]any{"headers": map[string]any{"X-RateLimit-Limit": "20", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": strconv.FormatInt(time.Now().Add(42*time.Second).UnixMilli(), 10)}})},
		{Name: FaultMinute + ", upstream", Class: assay.ClassRateLimited, Step: problem(429, "Provider returned error", map[string]any{"raw": "google/gemini-2.0-flash-exp:free is temporarily rate-limited upstream. Please retry shortly.", "provider_name": "Google"})},
		{Name: FaultMinute + ", with status 200", Class: assay.ClassRateLimited, Step: Status(200, `{"error":{"code":429,"message":"Provider returned error"}}`)},
		{Name: FaultMoney, Class: assay.ClassQuota, Step: problem(402, "This request requires more credits, or fewer max_tokens. You requested up to 4096 tokens, but can only afford 100.", nil)},
		{Name: FaultMoney + ", of the key", Class: assay.ClassQuota, Step: problem(403, "Key limit exceeded (total limit). Manage it using https://openrouter.ai/settings/keys", nil)},
		{Name: FaultKey, Class: assay.ClassBadCredentials, Step: problem(401, "No auth credentials found", nil)},
		{Name: "403", Class: assay.ClassBadCredentials, Step: problem(403, "The request is not allowed for this key.", nil)},
		{Name: FaultModel, Class: assay.ClassModelMissing, Step: problem(400, "m is not a valid model ID", nil)},
		{Name: FaultModel + ", nobody serves it", Class: assay.ClassModelMissing, Step: problem(404, "No endpoints found for vendor/m.", nil)},
		{Name: FaultBusy, Class: assay.ClassProviderError, Step: problem(529, "Provider returned error", map[string]any{"raw": `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, "provider_name": "Anthropic"})},
		{Name: FaultBusy + ", nobody left", Class: assay.ClassProviderError, Step: problem(503, "There is no available model provider that meets your routing requirements", nil)},
		{Name: FaultContext, Class: assay.ClassContextTooLong, Step: problem(400, "This endpoint's maximum context length is 131072 tokens. However, you requested about 140010 tokens (139000 of text input, 1010 in the output). Please reduce the length of either one, or use the \"middle-out\" transform to compress your prompt automatically.", nil)},
		{Name: FaultFilter, Class: assay.ClassContentFiltered, Step: problem(403, "openai/gpt-4o requires moderation on OpenAI. Your input was flagged for \"violence\". No credits were charged.", map[string]any{"reasons": []string{"violence"}, "flagged_input": "…"})},
		{Name: FaultFilter + ", of the answer", Class: assay.ClassContentFiltered, Step: Filtered()},
		{Name: "failed choice", Class: assay.ClassProviderError, Step: Status(200, `{"id":"gen-1","model":"m","choices":[{"index":0,"finish_reason":"error","message":{"role":"assistant","content":"{\"a"},"error":{"code":502,"message":"Provider disconnected"}}]}`)},
	}
}

func vllmFaults() []Fault {
	// Old servers answer with the error object itself, new ones with it inside error.
	problem := func(status int, kind, message string) Step {
		return Status(status, fmt.Sprintf(`{"object":"error","message":%s,"type":%q,"param":null,"code":%d}`, marshal(message), kind, status))
	}
	return append(beforeServers(), []Fault{
		{Name: FaultKey, Class: assay.ClassBadCredentials, Step: Status(401, `{"error":"Unauthorized"}`)},
		{Name: FaultModel, Class: assay.ClassModelMissing, Step: problem(404, "NotFoundError", "The model `m` does not exist.")},
		{Name: FaultModel + ", new form", Class: assay.ClassModelMissing, Step: Status(404, `{"error":{"message":"The model `+"`m`"+` does not exist.","type":"NotFoundError","param":"model","code":404}}`)},
		{Name: FaultBusy, Class: assay.ClassProviderError, Step: problem(503, "ServiceUnavailableError", "The server is overloaded")},
		{Name: FaultContext, Class: assay.ClassContextTooLong, Step: problem(400, "BadRequestError", "This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion). Please reduce the length of the messages or completion.")},
		{Name: FaultContext + ", nothing left for the answer", Class: assay.ClassContextTooLong, Step: problem(400, "BadRequestError", "max_tokens must be at least 1, got -186.")},
		{Name: FaultFilter, Class: assay.ClassContentFiltered, Step: Filtered()},
		{Name: "bad parameter", Class: assay.ClassJudgeError, Step: problem(400, "BadRequestError", "[{'type': 'extra_forbidden', 'loc': ('body', 'foo')}]")},
	}...)
}

// beforeServers are what a gateway before a server of one's own says: the server has no limits itself.
func beforeServers() []Fault {
	return []Fault{
		{Name: FaultDaily, Class: assay.ClassQuota, Wait: 2 * time.Hour, Step: Problem(429, "", "", "Daily request limit reached for this token", "Retry-After", "7200")},
		{Name: FaultMinute, Class: assay.ClassRateLimited, Step: Page(429, "429 Too Many Requests")},
		{Name: FaultMoney, Class: assay.ClassQuota, Step: Status(402, `{"error":{"message":"Insufficient Balance"}}`)},
	}
}

func ollamaFaults() []Fault {
	problem := func(status int, message string) Step {
		return Status(status, `{"error":{"message":`+marshal(message)+`,"type":"api_error","param":null,"code":null}}`)
	}
	return append(beforeServers(), []Fault{
		{Name: FaultKey, Class: assay.ClassBadCredentials, Step: Status(401, `{"error":"unauthorized"}`)},
		{Name: FaultModel, Class: assay.ClassModelMissing, Step: problem(404, `model "m" not found, try pulling it first`)},
		{Name: FaultBusy, Class: assay.ClassProviderError, Step: problem(503, "server busy, please try again.  maximum pending requests exceeded")},
		{Name: FaultContext, Class: assay.ClassContextTooLong, Step: problem(400, "the input length exceeds the context length")},
		{Name: FaultFilter, Class: assay.ClassContentFiltered, Step: Filtered()},
		{Name: "no memory", Class: assay.ClassProviderError, Step: problem(500, "model requires more system memory (12.7 GiB) than is available (7.1 GiB)")},
	}...)
}

func liteLLMFaults() []Fault {
	problem := func(status int, kind, message string, header ...string) Step {
		return Status(status, marshal(map[string]any{"error": map[string]any{"message": message, "type": kind, "param": nil, "code": strconv.Itoa(status)}}), header...)
	}
	nested := json.RawMessage(`{"error":{"code":429,"message":"You exceeded your current quota.","status":"RESOURCE_EXHAUSTED","details":[` + googleQuota("GenerateRequestsPerDayPerProjectPerModel-FreeTier") + `]}}`)
	return []Fault{
		{Name: FaultDaily, Class: assay.ClassQuota, Step: problem(429, "throttling_error", "litellm.RateLimitError: RateLimitError: OpenAIException - Rate limit reached for gpt-4o on requests per day (RPD): Limit 200, Used 200, Requested 1.")},
		{Name: FaultDaily + ", as a text inside", Class: assay.ClassQuota, Step: problem(429, "throttling_error", string(nested))},
		{Name: FaultMinute, Class: assay.ClassRateLimited, Wait: 5 * time.Second, Step: problem(429, "throttling_error", "litellm.RateLimitError: AnthropicException - This request would exceed your organization's rate limit of 50 requests per minute.", "retry-after", "5")},
		{Name: FaultMoney, Class: assay.ClassQuota, Step: problem(400, "budget_exceeded", "Budget has been exceeded! Current cost: 10.2, Max budget: 10.0")},
		{Name: FaultKey, Class: assay.ClassBadCredentials, Step: problem(401, "auth_error", "Authentication Error, Invalid proxy server token passed. Received API Key = sk-...abcd, Key Hash (Token) =1234. Unable to find token in cache or `LiteLLM_VerificationTokenTable`")},
		{Name: FaultModel, Class: assay.ClassModelMissing, Step: Status(400, `{"error":{"message":"{'error': '/chat/completions: Invalid model name passed in model=m. Call `+"`/v1/models`"+` to view available models for your key.'}","type":"invalid_request_error","param":"model","code":"400"}}`)},
		{Name: "403 model", Class: assay.ClassModelMissing, Step: problem(403, "key_model_access_denied", "key not allowed to access model. This key can only access models=['gpt-4o']. Tried to access m")},
		{Name: FaultBusy, Class: assay.ClassProviderError, Step: problem(503, "None", "litellm.ServiceUnavailableError: AnthropicException - {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}")},
		{Name: FaultContext, Class: assay.ClassContextTooLong, Step: problem(400, "None", "litellm.ContextWindowExceededError: litellm.BadRequestError: AnthropicException - prompt is too long: 208310 tokens > 200000 maximum")},
		{Name: FaultFilter, Class: assay.ClassContentFiltered, Step: problem(400, "None", "litellm.ContentPolicyViolationError: AzureException - The response was filtered due to the prompt triggering Azure OpenAI's content management policy.")},
	}
}

func compatibleFaults() []Fault {
	return append(beforeServers(), []Fault{
		{Name: FaultKey, Class: assay.ClassBadCredentials, Step: Page(401, "401 Authorization Required")},
		{Name: FaultModel, Class: assay.ClassModelMissing, Step: NoModel()},
		{Name: FaultBusy, Class: assay.ClassProviderError, Wait: 3 * time.Second, Step: Status(503, "upstream down", "Retry-After", "3", "Content-Type", "text/plain")},
		{Name: FaultContext, Class: assay.ClassContextTooLong, Step: Status(400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`)},
		{Name: FaultFilter, Class: assay.ClassContentFiltered, Step: Filtered()},
		{Name: "wall", Class: assay.ClassUnreachable, Step: Page(403, "Attention Required! | Cloudflare")},
		{Name: "unprocessable", Class: assay.ClassJudgeError, Step: Status(422, `{"detail":[{"loc":["body","seed"],"msg":"extra fields not permitted"}]}`)},
		{Name: "request timeout", Class: assay.ClassProviderError, Step: Status(408, "")},
	}...)
}
