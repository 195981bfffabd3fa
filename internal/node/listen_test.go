package node

import (
	"strings"
	"testing"

	"assay/internal/assay"
)

// TestListenSaysWhatIsWrong: only an address that is taken is said to be taken.
func TestListenSaysWhatIsWrong(t *testing.T) {
	l, err := Listen("127.0.0.1:0", "")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for addr, want := range map[string]assay.Code{
		l.Addr().String():  assay.CodeUnavailable,
		"127.0.0.1:99999":  assay.CodeInvalid,
		"127.0.0.1:nobody": assay.CodeInvalid,
	} {
		other, err := Listen(addr, "")
		if err == nil {
			other.Close()
			t.Fatalf("listens on %s", addr)
		}
		e, ok := err.(*assay.Error)
		if !ok || e.Code != want || strings.Contains(e.Hint, "another program") != (want == assay.CodeUnavailable) {
			t.Errorf("%s: %v", addr, err)
		}
	}
}
