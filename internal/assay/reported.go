package assay

import "slices"

// Bounds of what a harness reports and of what a run keeps of it.
const (
	MaxMetricName = 200 // bytes
	MaxReportText = 500 // bytes, of progress and links
	MaxMetrics    = 500 // names of metrics whose newest value is shown
	MaxLinks      = 100
)

// NewestMetric puts a value in the place of the older one of its name. Of names past MaxMetrics only the
// points are kept.
func NewestMetric(list []Metric, m Metric) []Metric {
	if i := slices.IndexFunc(list, func(x Metric) bool { return x.Name == m.Name }); i >= 0 {
		list[i] = m
		return list
	}
	if len(list) >= MaxMetrics {
		return list
	}
	return append(list, m)
}

// AddLink adds a link, or gives one that is there its new text. Those past MaxLinks are left out.
func AddLink(list []Link, l Link) []Link {
	if i := slices.IndexFunc(list, func(x Link) bool { return x.URL == l.URL }); i >= 0 {
		list[i] = l
		return list
	}
	if len(list) >= MaxLinks {
		return list
	}
	return append(list, l)
}
