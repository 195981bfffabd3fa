package results

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"assay/internal/assay"
	"assay/internal/logs"
)

// Bounds of what is kept of a case.
const (
	maxProperties = 200
	maxRemarks    = 20 // failures, and errors
)

// test is a testcase that is being read.
type test struct {
	attr       map[string]string
	suites     string
	depth      int
	failures   []*remark
	errors     []*remark
	skipped    *remark
	out, err   strings.Builder
	properties map[string]any
	again      int // failures of runs that were repeated until one passed
}

// remark is a failure, an error or a reason to skip.
type remark struct {
	kind, message string
	text          strings.Builder
}

// start takes an element in the test and says where its text goes.
func (t *test) start(name string, attr map[string]string) *strings.Builder {
	r := &remark{kind: attr["type"], message: attr["message"]}
	switch name {
	case "failure":
		if len(t.failures) < maxRemarks {
			t.failures = append(t.failures, r)
		}
	case "error":
		if len(t.errors) < maxRemarks {
			t.errors = append(t.errors, r)
		}
	case "skipped":
		t.skipped = r
	case "rerunFailure", "rerunError", "flakyFailure", "flakyError":
		t.again++
		return nil
	case "system-out":
		return &t.out
	case "system-err":
		return &t.err
	case "property":
		if t.properties == nil {
			t.properties = map[string]any{}
		}
		if len(t.properties) < maxProperties {
			t.properties[attr["name"]] = attr["value"]
		}
		return nil
	default:
		return nil
	}
	return &r.text
}

// says is what a remark says: its message, and its text where that says more.
func (r *remark) says(mask *logs.Masker) string {
	text := strings.TrimRight(masks(mask, r.text.String(), maxMarkupText), " \t\r\n")
	if strings.Contains(text, r.message) {
		return text
	}
	if strings.TrimSpace(text) == "" || strings.Contains(r.message, text) {
		return r.message
	}
	return r.message + "\n\n" + text
}

func say(mask *logs.Masker, remarks []*remark) string {
	var all []string
	for _, r := range remarks {
		all = append(all, cmp.Or(r.says(mask), r.kind))
	}
	return paragraphs(all...)
}

func (t *test) name() string {
	class := cmp.Or(t.attr["classname"], t.attr["file"], t.suites)
	return strings.TrimPrefix(class+"::"+t.attr["name"], "::")
}

// read makes a case of a test. A failure is a verdict, an error is none: where a test failed and its
// clean-up broke, it failed.
func (t *test) read(mask *logs.Masker) assay.Case {
	c := assay.Case{Key: t.name(), State: assay.ItemGraded, Output: masks(mask, t.out.String(), maxMarkupText), Seconds: duration(t.attr["time"]), Place: t.place()}
	members := map[string]any{"suite": t.suites, "stderr": masks(mask, t.err.String(), maxMarkupText), "failed_before": t.again}
	if t.again == 0 {
		delete(members, "failed_before")
	}
	if len(t.properties) > 0 {
		members["properties"] = t.properties
	}
	pass := len(t.failures) == 0
	switch {
	case !pass:
		members["failure"], members["error"] = t.failures[0].kind, say(mask, t.errors)
	case len(t.errors) > 0:
		c.State, c.Class = assay.ItemErrored, assay.ClassCaseError
		c.Error = cmp.Or(say(mask, t.errors), "it broke and does not say why")
		members["error"] = t.errors[0].kind
	case t.left():
		c.State, c.Class = assay.ItemUngradable, assay.ClassCaseSkipped
		if t.skipped != nil {
			c.Error = t.skipped.says(mask)
			members["skipped"] = t.skipped.kind
		}
	}
	if c.State == assay.ItemGraded {
		c.Pass = &pass
		c.Findings = []assay.Finding{{Criterion: "pass", Value: boolean(pass), Applies: true, Reason: say(mask, t.failures)}}
	}
	extra(&c, members)
	return c
}

// left says whether the test was left out; Google Test says so by attributes.
func (t *test) left() bool {
	switch strings.ToLower(cmp.Or(t.attr["status"], t.attr["result"])) {
	case "notrun", "disabled", "skipped", "suppressed":
		return true
	}
	return t.skipped != nil
}

func (t *test) place() string {
	if t.attr["file"] == "" || t.attr["line"] == "" {
		return t.attr["file"]
	}
	return t.attr["file"] + ":" + t.attr["line"]
}

// duration reads seconds; some write 1,234.5.
func duration(s string) *float64 {
	x, err := strconv.ParseFloat(strings.ReplaceAll(s, ",", ""), 64)
	if err != nil || x < 0 || math.IsInf(x, 0) || math.IsNaN(x) {
		return nil
	}
	return &x
}
