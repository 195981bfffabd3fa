package results

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"assay/internal/assay"
	"assay/internal/logs"
)

// What a harness got as a secret is in no case, however its result file writes it down.
func TestSecretsAreMaskedInCases(t *testing.T) {
	const secret = `s3cret/"wörd`
	inJSON := `s3cret\/\"w\u00f6rd`
	inXML := `s3cret/&quot;w&#246;rd`
	mask, err := logs.NewMasker([]string{secret, "12345678"})
	if err != nil {
		t.Fatal(err)
	}
	assay1 := `{"case":"a S","pass":false,"input":"S","output":{"x S":["S",12345678]},"expected":"S","place":"S","model":"S","criteria":{"c S":{"value":"S","reason":"S"}},"extra":{"e S":{"S":"S"}}}
{"case":"b","error":"S"}
{"case":"c","skipped":"S"}
{"case":"d","pass":"S"}
{"S":1}
"S"
{"case":"e","pass":true,"input":"a ` + strings.Repeat("x", maxText-8) + `S"}
`
	promptfoo := `{"results":{"version":3,"results":[{"success":false,"vars":{"q S":"S"},"provider":{"id":"S"},"prompt":{"raw":"S","label":"S"},"response":{"output":{"S":"S"}},"testCase":{"description":"S"},
		"gradingResult":{"pass":false,"reason":"S","componentResults":[{"pass":false,"reason":"S","assertion":{"type":"contains","value":"` + strings.Repeat("y", 66) + `S"}}]}},
		{"success":false,"failureReason":2,"error":"S","vars":{"q":"` + strings.Repeat("y", 54) + `S"}},7],"stats":{"successes":9}}}`
	inspect := `{"status":"error","error":{"message":"S"},"eval":{"task":"t S","model":"S"},"samples":[{"id":"S","epoch":1,"input":[{"role":"user","content":[{"type":"text","text":"S"}]}],"target":["S"],"scores":{"S":{"value":"S","answer":"S","explanation":"S"},
		"long":{"value":"` + strings.Repeat("z", maxPlace-6) + `S"},"parts":{"value":{"S":1}}},"metadata":{"S":"S"}},{"id":2,"epoch":1,"error":{"message":"S","traceback":"S"},"scores":{"m":{"value":"S"}}},{"no":"id"}]}`
	junit := `<testsuites><testsuite name="S"><testcase classname="S" name="n S" file="S" line="1"><failure type="S" message="S">S</failure><system-out>S</system-out><system-err><![CDATA[C]]></system-err><properties><property name="S" value="S"/><property name="long" value="` + strings.Repeat("m", maxAttribute-6) + `S"/></properties></testcase>
		<testcase name="l"><failure message="` + strings.Repeat("m", maxAttribute-6) + `S">` + strings.Repeat("t", maxMarkupText-6) + `S</failure></testcase>
		<testcase name="e"><error message="S"/></testcase><testcase name="k"><skipped>S</skipped></testcase></testsuite><S/>`
	for _, c := range []struct {
		format  assay.ResultFormat
		content string
		cases   int
	}{
		{assay.ResultAssay, strings.ReplaceAll(assay1, "S", inJSON), 4},
		{assay.ResultPromptfoo, strings.ReplaceAll(promptfoo, "S", inJSON), 2},
		{assay.ResultInspect, strings.ReplaceAll(inspect, "S", inJSON), 2},
		{assay.ResultJUnit, strings.ReplaceAll(strings.ReplaceAll(junit, "S", inXML), "[C]", "["+secret+"]"), 4},
	} {
		var cases []assay.Case
		err := Read(c.format, "r", bytes.NewReader([]byte(c.content)), int64(len(c.content)), Options{Mask: mask}, func(c assay.Case) error {
			cases = append(cases, c)
			return nil
		})
		hold(t, cases)
		if len(cases) != c.cases {
			t.Errorf("%s: %d cases, %v", c.format, len(cases), err)
		}
		raw, _ := json.Marshal(cases)
		said := string(raw)
		var faults *Error
		if errors.As(err, &faults) {
			said += err.Error()
		} else {
			t.Errorf("%s: %v", c.format, err)
		}
		for _, part := range []string{"s3cr", "wörd", "12345678"} {
			if at := strings.Index(said, part); at >= 0 {
				t.Errorf("%s: %s", c.format, said[max(0, at-100):min(len(said), at+20)])
			}
		}
		if !strings.Contains(said, "****") {
			t.Errorf("%s: %s", c.format, said)
		}
	}
}
