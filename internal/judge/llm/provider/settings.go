package provider

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	"assay/internal/assay"
	"assay/internal/definition"
)

// Complete fills in the defaults of the named provider and checks s as a whole. The error names the
// field that is wrong.
func (s Settings) Complete() (Settings, error) {
	if s.Provider == "" {
		if u, err := url.Parse(s.BaseURL); err == nil {
			s.Provider = profileAt(strings.ToLower(u.Host))
		}
		s.Provider = cmp.Or(s.Provider, compatibleName)
	}
	profile, ok := ProfileOf(s.Provider)
	if !ok {
		return s, invalid("provider", "the provider %.40q is not known%s", s.Provider, definition.Nearest(s.Provider, names())).
			WithHint("use one of %s; the last is any server that speaks one of the protocols", strings.Join(names(), ", "))
	}
	if s.API == "" {
		s.API = profile.APIs[0]
	}
	if !slices.Contains(profile.APIs, s.API) {
		return s, invalid("api", "api %.40q is not spoken by %s%s", s.API, s.Provider, definition.Nearest(string(s.API), texts(profile.APIs))).
			WithHint("use %s", strings.Join(texts(profile.APIs), " or "))
	}
	if s.BaseURL == "" {
		s.BaseURL = profile.BaseURL
	}
	if s.BaseURL == "" {
		return s, invalid("base_url", "no base_url is given").WithHint("for instance https://api.openai.com/v1 or http://localhost:8000/v1")
	}
	var err error
	if s.BaseURL, err = LogicalEndpoint(s.BaseURL); err != nil {
		return s, err
	}
	if s.API == Messages {
		s.BaseURL = strings.TrimSuffix(s.BaseURL, "/v1") // the protocol's own spelling has it in the path
	}
	if s.Provider == "azure" {
		if s, err = s.completeAzure(); err != nil {
			return s, err
		}
	}
	if s.keys() == 0 {
		s.KeyEnv = profile.KeyEnv
	}
	if s.keys() > 1 {
		return s, invalid("api_key_env", "more than one source of the key is given").WithHint("keep one of api_key_env, api_key_file and api_key_command")
	}
	if s.Timeout < 0 {
		return s, invalid("timeout", "timeout %s is negative", s.Timeout).WithHint("for instance 2m, or leave it out")
	}
	if s.Timeout == 0 {
		s.Timeout = defaultTimeout
	}
	return s, nil
}

func (s Settings) keys() (n int) {
	for _, given := range []bool{s.KeyEnv != "", s.KeyFile != "", len(s.KeyCommand) > 0} {
		if given {
			n++
		}
	}
	return n
}

const apiVersion = "api-version"

// completeAzure makes the resource's address that of its v1 API, which needs no api-version; with one,
// the address stays, and calls go to the model's deployment.
func (s Settings) completeAzure() (Settings, error) {
	_, path, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(s.BaseURL, "https://"), "http://"), "/")
	switch {
	case path == "" && s.Query[apiVersion] == "":
		s.BaseURL += "/openai/v1"
	case strings.Contains(path, "deployments/") && s.Query[apiVersion] == "":
		return s, invalid("query", "a deployment of Azure needs an api-version").WithHint("write `api_version: 2024-10-21`, or give base_url as https://NAME.openai.azure.com/openai/v1")
	}
	return s, nil
}

func names() []string {
	var all []string
	for _, p := range profiles() {
		all = append(all, p.Name)
	}
	return all
}

func texts(apis []API) []string {
	all := make([]string, len(apis))
	for i, a := range apis {
		all[i] = string(a)
	}
	return all
}

func invalid(field, format string, args ...any) *assay.Error {
	return assay.Errorf(assay.CodeInvalid, format, args...).With(DetailField, field)
}

// LogicalEndpoint is a base URL in its plainest spelling, so that a trailing slash or a default port
// makes no new version.
func LogicalEndpoint(base string) (string, error) {
	u, err := url.Parse(base)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return "", invalid("base_url", "base_url is not an http or https URL").WithHint("for instance https://api.openai.com/v1 or http://localhost:8000/v1")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", invalid("base_url", "base_url holds a user, a query or a fragment").WithHint("give the address alone; a key goes into the variable that api_key_env names, Azure's version into api_version")
	}
	host := strings.ToLower(u.Host)
	host = strings.TrimSuffix(host, map[string]string{"http": ":80", "https": ":443"}[u.Scheme])
	return u.Scheme + "://" + host + strings.TrimRight(u.EscapedPath(), "/"), nil
}
