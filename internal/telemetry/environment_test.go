package telemetry

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// A configuration that cannot work is told by the variable's name, never by its value, and leaves spans
// off and everything else on.
func TestABadConfigurationIsToldWithoutItsSecrets(t *testing.T) {
	for name, env := range map[string][2]string{
		"no URL":          {envEndpoint, "http://u:" + secret + "@[::bad"},
		"no scheme":       {envTracesEndpoint, secret + ":4318"},
		"gRPC":            {envProtocol, "grpc"},
		"gRPC for traces": {envTracesProtocol, "grpc"},
		"headers":         {envHeaders, "Authorization " + secret},
		"header's name":   {envTracesHeaders, "Author ization=" + secret},
		"header's value":  {envHeaders, "Authorization=%zz" + secret},
		"exporter":        {envExporter, "console"},
	} {
		t.Run(name, func(t *testing.T) {
			clearEnv(t)
			t.Setenv(envEndpoint, "http://127.0.0.1:4318")
			t.Setenv(env[0], env[1])
			var log bytes.Buffer
			tel := New(t.Context(), Options{Spans: true, Log: slog.New(slog.NewTextHandler(&log, nil))})
			if tel.spans != nil {
				tel.Close()
				t.Error("spans are on")
			}
			if !strings.Contains(log.String(), env[0]) || strings.Contains(log.String(), secret) {
				t.Errorf("log: %s", log.String())
			}
			_, ended := tel.Call(t.Context(), aCall())
			ended(aReply(""), nil)
		})
	}
}
