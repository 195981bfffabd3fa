package old

import (
	"slices"
	"testing"
)

func TestPercentKeepsAllAndNoneApart(t *testing.T) {
	for x, want := range map[float64]string{
		0: "0.0 %", 1: "100.0 %", 0.99999: ">99.9 %", 0.00001: "<0.1 %", 0.123456: "12.3 %", 1 - 1e-16: "100.0 %", 0.9996: ">99.9 %",
	} {
		if got := percent(x); got != want {
			t.Errorf("percent(%v) = %q, want %q", x, got, want)
		}
	}
}

func TestWhole(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", -123: "-123"} {
		if got := whole(n); got != want {
			t.Errorf("whole(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	got := wrap("one two  three averyveryverylongwordthatfitsnowhere four", 20)
	if want := []string{"one two three", "averyveryverylongwordthatfitsnowhere", "four"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := wrap("", 20); !slices.Equal(got, []string{""}) {
		t.Errorf("%q", got)
	}
}
