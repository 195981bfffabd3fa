package provider

import "strings"

// refused are the parameters that some models refuse, by the words that providers use for them, and
// what to do in the judge; of a built-in judge by the variable that its definition reads.
var refused = []struct {
	words            []string
	remedy, variable string
}{
	{[]string{"temperature"}, "leave temperature out", "ASSAY_JUDGE_TEMPERATURE, which may be empty"},
	{[]string{"reasoning", "thinking", "effort"}, "change reasoning or leave it out", "ASSAY_JUDGE_REASONING"},
	{[]string{"response_format", "json_schema", "json schema", "output_config", "output_format", "output format", "structured output", "text.format", "tool_choice"},
		"set response_format: tool, or none", "ASSAY_JUDGE_RESPONSE_FORMAT"},
	{[]string{"max_tokens", "max_completion_tokens", "max_output_tokens"}, "set max_tokens as the model takes it", "ASSAY_JUDGE_MAX_TOKENS"},
}

// remedyOf says what to do about a parameter that the endpoint named when it refused the request, "" where
// it named none of these. Of several the first is what it speaks of.
func remedyOf(message string) string {
	message = strings.ToLower(message)
	first, says := len(message), ""
	for _, r := range refused {
		for _, w := range r.words {
			if i := strings.Index(message, w); i >= 0 && i < first {
				first, says = i, r.remedy+" (of a built-in judge by "+r.variable+")"
			}
		}
	}
	return says
}
