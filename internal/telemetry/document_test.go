package telemetry

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"assay/internal/assay"
)

// firstCells are the names in the first column of the page's tables.
func firstCells(t *testing.T) (metrics, attributes []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/OBSERVABILITY.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9_.]+)` \\|").FindAllStringSubmatch(string(page), -1) {
		if strings.Contains(m[1], ".") {
			attributes = append(attributes, m[1])
		} else {
			metrics = append(metrics, m[1])
		}
	}
	slices.Sort(metrics)
	slices.Sort(attributes)
	return metrics, attributes
}

// The page names exactly the metrics and the attributes that exist.
func TestThePageNamesWhatExists(t *testing.T) {
	metrics, attributes := firstCells(t)
	families, err := full(t).metrics.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var exist []string
	for _, f := range families {
		if strings.HasPrefix(f.GetName(), "go_") || strings.HasPrefix(f.GetName(), "process_") {
			continue
		}
		exist = append(exist, f.GetName())
	}
	slices.Sort(exist)
	if !slices.Equal(metrics, exist) {
		t.Errorf("metrics on the page\n%v\nthat exist\n%v", metrics, exist)
	}

	c := collect(t)
	tel := New(t.Context(), Options{Spans: true})
	_, ended := tel.Call(t.Context(), aCall())
	ended(aReply(assay.ClassTimeout), usd(1)) // an error after all that a reply can tell
	tel.Close()
	spans, _ := c.spans(t)
	if len(spans) != 1 || !slices.Equal(attributes, spans[0].keys()) {
		t.Errorf("attributes on the page\n%v\nspans %+v", attributes, spans)
	}
}

// A metric that no call has touched yet is described all the same, so full() cannot forget one.
func TestFullTouchesEveryMetric(t *testing.T) {
	tel := full(t)
	families, err := tel.metrics.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	gathered := map[string]bool{}
	for _, f := range families {
		gathered[f.GetName()] = true
	}
	for _, name := range described(tel) {
		if !gathered[name] {
			t.Errorf("%s exists and full() gives it no value", name)
		}
	}
}

// described are the names of our metrics as their collectors declare them.
func described(tel *Telemetry) (names []string) {
	descs := make(chan *prometheus.Desc)
	go func() { tel.metrics.registry.Describe(descs); close(descs) }()
	for d := range descs {
		if m := regexp.MustCompile(`fqName: "(assay_[a-z_]+)"`).FindStringSubmatch(d.String()); m != nil {
			names = append(names, m[1])
		}
	}
	return names
}
