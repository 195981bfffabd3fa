package telemetry

import (
	"net/url"
	"os"
	"strings"

	"assay/internal/assay"
)

// Variables of the OpenTelemetry specification that decide whether spans are made.
const (
	envDisabled       = "OTEL_SDK_DISABLED"
	envExporter       = "OTEL_TRACES_EXPORTER"
	envEndpoint       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	envTracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	envProtocol       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	envTracesProtocol = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
	envHeaders        = "OTEL_EXPORTER_OTLP_HEADERS"
	envTracesHeaders  = "OTEL_EXPORTER_OTLP_TRACES_HEADERS"
)

// CheckEnvironment is what New would log of the process's environment, for a command without a log.
func CheckEnvironment() error {
	_, err := spansWanted(os.Getenv)
	return err
}

// spansWanted says whether a collector is configured. It checks here what the SDK would print to
// stderr as it is: endpoints and headers can hold secrets.
func spansWanted(getenv func(string) string) (bool, error) {
	get := func(name string) string { return strings.TrimSpace(getenv(name)) }
	if strings.EqualFold(get(envDisabled), "true") || get(envEndpoint) == "" && get(envTracesEndpoint) == "" {
		return false, nil
	}
	switch get(envExporter) {
	case "", "otlp":
	case "none":
		return false, nil
	default:
		return false, assay.Errorf(assay.CodeInvalid, "%s is neither otlp nor none", envExporter).
			WithHint("spans leave by OTLP over HTTP only: unset it")
	}
	for _, name := range []string{envEndpoint, envTracesEndpoint} {
		if err := checkEndpoint(name, get(name)); err != nil {
			return false, err
		}
	}
	for _, name := range []string{envHeaders, envTracesHeaders} {
		if err := checkHeaders(name, get(name)); err != nil {
			return false, err
		}
	}
	return true, checkProtocol(get)
}

func checkEndpoint(name, value string) error {
	if value == "" {
		return nil
	}
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return assay.Errorf(assay.CodeInvalid, "%s is not the URL of a collector", name).
			WithHint("for instance http://127.0.0.1:4318")
	}
	return nil
}

// checkHeaders reads them as the SDK does: NAME=VALUE, comma, NAME=VALUE; values are percent-encoded.
func checkHeaders(name, value string) error {
	if value == "" {
		return nil
	}
	for pair := range strings.SplitSeq(value, ",") {
		header, v, ok := strings.Cut(pair, "=")
		_, err := url.PathUnescape(v)
		if !ok || err != nil || !isToken(strings.TrimSpace(header)) {
			return assay.Errorf(assay.CodeInvalid, "%s does not hold NAME=VALUE pairs", name).
				WithHint("separate pairs by commas and percent-encode the values, for instance Authorization=Bearer%%20KEY")
		}
	}
	return nil
}

// isToken says whether s can be the name of a header (RFC 9110, 5.6.2).
func isToken(s string) bool {
	for _, c := range []byte(s) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		digit := c >= '0' && c <= '9'
		if !letter && !digit && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return s != ""
}

func checkProtocol(get func(string) string) error {
	name, value := envTracesProtocol, get(envTracesProtocol)
	if value == "" {
		name, value = envProtocol, get(envProtocol)
	}
	switch value {
	case "", "http/protobuf", "http/json":
		return nil
	}
	return assay.Errorf(assay.CodeInvalid, "%s is neither http/protobuf nor http/json", name).
		WithHint("spans leave over HTTP: unset it and give the collector's HTTP port, often 4318")
}
