package llmtest

import (
	"net/http"
	"strconv"
	"time"

	"assay/internal/assay"
)

func openAIFaults() []Fault {
	problem := Problem
	const daily = "Rate limit reached for gpt-4o in organization org-x on requests per day (RPD): Limit 200, Used 200, Requested 1. Please try again in 7m12s. Visit https://platform.openai.com/account/rate-limits to learn more."
	const minute = "Rate limit reached for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Used 29500, Requested 1042. Please try again in 1.084s."
	return []Fault{
		{Name: FaultDaily, Class: assay.ClassQuota, Wait: 7*time.Minute + 12*time.Second, Step: problem(429, "requests", "rate_limit_exceeded", daily)},
		{Name: FaultDaily + ", tokens", Class: assay.ClassQuota, Wait: 8*time.Hour + 3*time.Second, Step: problem(429, "tokens", "rate_limit_exceeded", "Rate limit reached for gpt-4o on tokens per day (TPD): Limit 90000, Used 89999, Requested 900.",
			"x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "8h0m3s")},
		{Name: FaultMinute, Class: assay.ClassRateLimited, Wait: 1084 * time.Millisecond, Step: problem(429, "tokens", "rate_limit_exceeded", minute)},
		{Name: FaultMinute + ", in ms", Class: assay.ClassRateLimited, Wait: 1500 * time.Millisecond, Step: problem(429, "requests", "rate_limit_exceeded", "Slow down.", "Retry-After-Ms", "1500", "Retry-After", "60")},
		{Name: FaultMinute + ", by what is left", Class: assay.ClassRateLimited, Wait: 120 * time.Millisecond, Step: problem(429, "requests", "slow_down", "Slow down.",
			"x-ratelimit-limit-requests", "60", "x-ratelimit-remaining-requests", "0", "x-ratelimit-reset-requests", "120ms", "x-ratelimit-remaining-tokens", "149984", "x-ratelimit-reset-tokens", "6m0s")},
		{Name: FaultMoney, Class: assay.ClassQuota, Step: Quota()},
		{Name: FaultMoney + ", credits", Class: assay.ClassQuota, Step: problem(429, "insufficient_quota", "credit_balance_exhausted", "Your credit balance is exhausted.")},
		{Name: FaultMoney + ", spend limit", Class: assay.ClassQuota, Step: problem(429, "insufficient_quota", "project_spend_limit_exceeded", "The project reached its spend limit.")},
		{Name: FaultKey, Class: assay.ClassBadCredentials, Step: problem(401, "invalid_request_error", "invalid_api_key", "Incorrect API key provided: sk-abc***xyz. You can find your API key at https://platform.openai.com/account/api-keys.")},
		{Name: "403", Class: assay.ClassBadCredentials, Step: problem(403, "request_forbidden", "unsupported_country_region_territory", "Country, region, or territory not supported")},
		{Name: FaultModel, Class: assay.ClassModelMissing, Step: NoModel()},
		{Name: "403 model", Class: assay.ClassModelMissing, Step: problem(403, "invalid_request_error", "model_not_found", "Project `proj_x` does not have access to model `m`")},
		{Name: FaultBusy, Class: assay.ClassProviderError, Step: Overloaded()},
		{Name: FaultContext, Class: assay.ClassContextTooLong, Step: problem(400, "invalid_request_error", "context_length_exceeded", "This model's maximum context length is 128000 tokens. However, your messages resulted in 150012 tokens. Please reduce the length of the messages.")},
		{Name: FaultFilter, Class: assay.ClassContentFiltered, Step: Filtered()},
		{Name: "flagged prompt", Class: assay.ClassContentFiltered, Step: problem(400, "invalid_request_error", "content_policy_violation", "Your request was rejected as a result of our safety system.")},
		{Name: "bad parameter", Class: assay.ClassJudgeError, Step: problem(400, "invalid_request_error", "unsupported_value", "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.")},
		{Name: "failed response", Class: assay.ClassProviderError, Step: failedResponse("server_error", "The model failed to generate a response.")},
		{Name: "failed response, rate", Class: assay.ClassRateLimited, Step: failedResponse("rate_limit_exceeded", "Rate limit reached.")},
	}
}

// failedResponse is a failure that comes with status 200, as the Responses API tells those of its model.
func failedResponse(code, message string) Step {
	return Step{status: http.StatusOK, body: func(r *Request) string {
		e := `{"code":` + strconv.Quote(code) + `,"message":` + strconv.Quote(message) + `}`
		if r.API() == Responses {
			return `{"id":"resp_1","object":"response","status":"failed","error":` + e + `,"incomplete_details":null,"output":[],"usage":null}`
		}
		return `{"error":` + e + `}`
	}}
}

func anthropicFaults() []Fault {
	problem := ClaudeProblem
	at := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(time.RFC3339) }
	back := time.Now().Add(20 * 24 * time.Hour).UTC().Truncate(time.Minute)
	return []Fault{
		{Name: FaultDaily, Class: assay.ClassQuota, Wait: 6 * time.Hour, Step: problem(429, "rate_limit_error", "This request would exceed your organization's rate limit of 1,000,000 input tokens per day. Please contact sales.", "retry-after", "21600")},
		{Name: FaultMinute, Class: assay.ClassRateLimited, Wait: 23 * time.Second, Step: problem(429, "rate_limit_error", "This request would exceed your organization's rate limit of 50 requests per minute. For details, refer to: https://docs.claude.com/en/api/rate-limits.", "retry-after", "23",
			"anthropic-ratelimit-requests-limit", "50", "anthropic-ratelimit-requests-remaining", "0", "anthropic-ratelimit-requests-reset", at(23*time.Second))},
		{Name: FaultMinute + ", by what is left", Class: assay.ClassRateLimited, Wait: 30 * time.Second, Step: problem(429, "rate_limit_error", "Number of request tokens has exceeded your per-minute rate limit.",
			"anthropic-ratelimit-requests-limit", "50", "anthropic-ratelimit-requests-remaining", "49", "anthropic-ratelimit-requests-reset", at(time.Second),
			"anthropic-ratelimit-tokens-limit", "40000", "anthropic-ratelimit-tokens-remaining", "0", "anthropic-ratelimit-tokens-reset", at(30*time.Second))},
		{Name: FaultMoney, Class: assay.ClassQuota, Step: Quota()},
		{Name: FaultMoney + ", billing", Class: assay.ClassQuota, Step: problem(402, "billing_error", "There is an issue with your billing or payment information.")},
		{Name: FaultMoney + ", own limit", Class: assay.ClassQuota, Wait: time.Until(back), Step: problem(400, "invalid_request_error", "You have reached your specified API usage limits. You will regain access on "+back.Format("2006-01-02 at 15:04")+" UTC.")},
		{Name: FaultMoney + ", spend cap", Class: assay.ClassQuota, Step: Status(429, `{"type":"error","error":{"type":"rate_limit_error","message":"Your organization has reached its monthly limit.","details":{"error_code":"enforced_spend_limit_reached"}},"request_id":"req_1"}`)},
		{Name: FaultKey, Class: assay.ClassBadCredentials, Step: problem(401, "authentication_error", "invalid x-api-key")},
		{Name: "403", Class: assay.ClassBadCredentials, Step: problem(403, "permission_error", "Your API key does not have permission to use the specified resource.")},
		{Name: FaultModel, Class: assay.ClassModelMissing, Step: problem(404, "not_found_error", "model: claude-nope-1")},
		{Name: FaultPath + ", own", Class: assay.ClassUnreachable, Step: problem(404, "not_found_error", "Not Found")},
		{Name: FaultBusy, Class: assay.ClassProviderError, Step: problem(529, "overloaded_error", "Overloaded")},
		{Name: FaultServer, Class: assay.ClassProviderError, Step: problem(500, "api_error", "Internal server error")},
		{Name: "timeout of its own", Class: assay.ClassProviderError, Step: problem(504, "timeout_error", "Request timed out.")},
		{Name: FaultContext, Class: assay.ClassContextTooLong, Step: problem(400, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum")},
		{Name: FaultContext + ", with the answer", Class: assay.ClassContextTooLong, Step: problem(400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 199000 + 4096 > 200000, decrease input length or `max_tokens` and try again")},
		{Name: FaultLarge + ", own", Class: assay.ClassContextTooLong, Step: problem(413, "request_too_large", "Request exceeds the maximum size")},
		{Name: FaultFilter, Class: assay.ClassContentFiltered, Step: problem(400, "invalid_request_error", "Output blocked by content filtering policy")},
		{Name: FaultLength + ", window full", Class: assay.ClassTruncated, Step: Status(200, `{"id":"msg_1","type":"message","role":"assistant","model":"claude","content":[{"type":"text","text":"{\"a"}],"stop_reason":"model_context_window_exceeded","usage":{"input_tokens":199000,"output_tokens":1000}}`)},
		{Name: "bad parameter", Class: assay.ClassJudgeError, Step: problem(400, "invalid_request_error", "temperature: Input should be less than or equal to 1")},
	}
}

func azureFaults() []Fault {
	problem := func(status int, code, message string, header ...string) Step {
		return Status(status, marshal(map[string]any{"error": map[string]any{"code": code, "message": message}}), header...)
	}
	const rate = "Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-10-21 have exceeded call rate limit of your current AIServices S0 pricing tier. Please retry after 7 seconds. Please contact Azure support service if you would like to further increase the default rate limit."
	return []Fault{
		{Name: FaultDaily, Class: assay.ClassQuota, Wait: 86400 * time.Second, Step: problem(429, "429", "Rate limit of the global batch: tokens per day of your subscription are exceeded. Please retry after 86400 seconds.")},
		{Name: FaultMinute, Class: assay.ClassRateLimited, Wait: 7 * time.Second, Step: problem(429, "429", "Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-10-21 have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 7 seconds.", "Retry-After", "7", "x-ratelimit-reset-tokens", "7", "x-ratelimit-remaining-tokens", "0")},
		{Name: FaultMinute + ", in words", Class: assay.ClassRateLimited, Wait: 7 * time.Second, Step: problem(429, "RateLimitReached", rate)},
		{Name: FaultMinute + ", of the gateway", Class: assay.ClassRateLimited, Wait: 11 * time.Second, Step: Status(429, `{"statusCode":429,"message":"Rate limit is exceeded. Try again in 11 seconds."}`)},
		{Name: FaultMoney, Class: assay.ClassQuota, Step: problem(403, "insufficient_quota", "You exceeded your current quota, please check your plan and billing details.")},
		{Name: FaultKey, Class: assay.ClassBadCredentials, Step: problem(401, "401", "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource.")},
		{Name: FaultKey + ", of the gateway", Class: assay.ClassBadCredentials, Step: Status(401, `{"statusCode":401,"message":"Unauthorized. Access token is missing, invalid, audience is incorrect (https://cognitiveservices.azure.com), or have expired."}`)},
		{Name: "403", Class: assay.ClassBadCredentials, Step: problem(403, "403", "Access denied due to Virtual Network/Firewall rules.")},
		{Name: FaultModel, Class: assay.ClassModelMissing, Step: problem(404, "DeploymentNotFound", "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again.")},
		{Name: FaultPath + ", own", Class: assay.ClassUnreachable, Step: problem(404, "404", "Resource not found")},
		{Name: FaultBusy, Class: assay.ClassProviderError, Step: problem(503, "ServiceUnavailable", "The server is currently processing too many requests. Please try again later.")},
		{Name: FaultContext, Class: assay.ClassContextTooLong, Step: Problem(400, "invalid_request_error", "context_length_exceeded", "This model's maximum context length is 8192 tokens. However, your messages resulted in 10210 tokens. Please reduce the length of the messages.")},
		{Name: FaultFilter, Class: assay.ClassContentFiltered, Step: Status(400, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry.","type":null,"param":"prompt","code":"content_filter","status":400,"innererror":{"code":"ResponsibleAIPolicyViolation","content_filter_result":{"violence":{"filtered":true,"severity":"medium"}}}}}`)},
		{Name: FaultFilter + ", of the answer", Class: assay.ClassContentFiltered, Step: Filtered()},
		{Name: "bad parameter", Class: assay.ClassJudgeError, Step: problem(400, "BadRequest", "response_format value as json_schema is enabled only for api versions 2024-08-01-preview and later")},
	}
}
