package filter

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
)

func head() *assay.Head {
	at := time.Date(2025, 3, 1, 12, 0, 0, 0, time.UTC)
	return &assay.Head{
		UserID: "u1", SessionID: "s/1", StartedAt: &at, Day: "2025-03-01", Arm: "treatment", Case: "7", Source: "live",
		AgentVersion: "v2", Turns: 3, Messages: 12, ToolCalls: 4, BodyBytes: 5000,
		Metadata: map[string]json.RawMessage{
			"plan": json.RawMessage(`"pro"`), "n": json.RawMessage(`3`), "f": json.RawMessage(`2.5`), "big": json.RawMessage(`9007199254740993`),
			"yes": json.RawMessage(`true`), "nothing": json.RawMessage(`null`), "list": json.RawMessage(`[1]`), "a.b": json.RawMessage(`"dot"`),
		},
	}
}

func TestMatch(t *testing.T) {
	tests := []struct {
		expr string
		want bool
	}{
		{"arm == 'treatment' && turns > 2", true},
		{"user == 'u1' && session == 's/1' && day == '2025-03-01' && case == '7' && source == 'live' && agent_version == 'v2'", true},
		{"turns == 3 && messages == 12 && tool_calls == 4 && bytes > 4999 && !undated", true},
		{"started >= timestamp('2025-03-01T00:00:00Z') && started < timestamp('2025-03-02T00:00:00Z')", true},
		{"started.getHours('Europe/Berlin') == 13", true},
		{"metadata.plan == 'pro'", true},
		{"metadata['a.b'] == 'dot'", true},
		{"metadata.n == 3 && metadata.n == 3.0 && metadata.n > 2.5 && metadata.f < 3", true},
		{"metadata.big == 9007199254740993", true},
		{"metadata.yes && turns == 3", true},
		{"metadata.plan && turns == 3", false},
		{"has(metadata.plan) && !has(metadata.other)", true},
		{"'plan' in metadata", true},
		{"metadata.missing == 'x'", false},
		{"!(metadata.missing == 'x')", false},
		{"metadata.missing == 'x' || turns == 3", true},
		{"turns == 3 || metadata.missing == 'x'", true},
		{"metadata.nothing == null", false},
		{"metadata.list == 1", false},
		{"metadata.plan > 3", false},
		{"metadata.plan == 3", false},
		{"1 / (turns - 3) == 1", false},
		{"session.startsWith('s') && session.matches('^s/[0-9]+$')", true},
		{"day in ['2025-03-01', '2025-03-02']", true},
		{"undated", false},
	}
	for _, tt := range tests {
		f, err := Compile(tt.expr)
		if err != nil {
			t.Errorf("%s: %v", tt.expr, err)
			continue
		}
		if got, err := f.Match(head()); err != nil || got != tt.want {
			t.Errorf("%s: got %v, %v; want %v", tt.expr, got, err, tt.want)
		}
	}
}

func TestUndatedSessionMatchesNoTime(t *testing.T) {
	for _, expr := range []string{"started > timestamp('1970-01-01T00:00:00Z')", "!(started > timestamp('1970-01-01T00:00:00Z'))"} {
		f, err := Compile(expr)
		if err != nil {
			t.Fatal(err)
		}
		h := head()
		h.StartedAt = nil
		if got, err := f.Match(h); got || err != nil {
			t.Errorf("%s: got %v, %v", expr, got, err)
		}
	}
}

func TestCompileSaysWhatIsWrong(t *testing.T) {
	for expr, want := range map[string]string{
		"":                                    "is empty",
		"turns >":                             "line 1, column 8",
		"turns > 2 &&\n  tunrs < 3":           "line 2, column 3: undeclared reference to 'tunrs'",
		"turns":                               "of type int",
		"metadata.plan":                       "of type dyn",
		"arm == 3":                            "column 5",
		strings.Repeat("(", 5000) + "1":       "5001 bytes",
		strings.Repeat("!", 3000) + "undated": "",
		strings.Repeat("[", 1000):             "",
	} {
		_, err := Compile(expr)
		if want == "" && err == nil {
			continue
		}
		if assay.CodeOf(err) != assay.CodeInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: got %v, want %q", expr, err, want)
			continue
		}
		var e *assay.Error
		if e, _ = err.(*assay.Error); e == nil || !strings.Contains(e.Hint, "agent_version") {
			t.Errorf("%.40q: the hint does not list the variables", expr)
		}
	}
}

func TestCostIsLimited(t *testing.T) {
	list := "[" + strings.Repeat("1,", 200) + "1]"
	f, err := Compile(list + ".all(a, " + list + ".all(b, " + list + ".all(c, a == b && b == c)))")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Match(head()); assay.CodeOf(err) != assay.CodeInvalid || !strings.Contains(err.Error(), "costs too much") {
		t.Errorf("got %v", err)
	}
}

func BenchmarkMatch(b *testing.B) {
	f, err := Compile("arm == 'treatment' && turns > 2 && metadata.plan == 'pro'")
	if err != nil {
		b.Fatal(err)
	}
	h := head()
	b.ReportAllocs()
	for b.Loop() {
		if ok, err := f.Match(h); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}
