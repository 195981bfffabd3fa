package definition

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{"description", "boolean", "name"}
	for name, want := range map[string]string{"descripton": "description", "bool": "boolean", "nam": "name", "xyz": "", "name": ""} {
		if got := Nearest(name, known); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q", name, got)
		}
	}
}
