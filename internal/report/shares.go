package report

import (
	"strconv"
	"strings"

	"assay/internal/assay"
)

// ParseShares reads how sessions were meant to go to arms: "treatment=5,control=95", or "any" where the shares were
// meant to change. "" is nothing said: to all arms alike.
func ParseShares(text string) (shares map[string]float64, any bool, err error) {
	switch strings.TrimSpace(text) {
	case "":
		return nil, false, nil
	case "any":
		return nil, true, nil
	}
	const hint = "write arm=share for each, for instance treatment=5,control=95, or any where the shares changed over time"
	shares = map[string]float64{}
	for part := range strings.SplitSeq(text, ",") {
		at := strings.LastIndex(part, "=")
		if at < 1 {
			return nil, false, assay.Errorf(assay.CodeInvalid, "the share %q cannot be read", part).WithHint(hint)
		}
		arm, number := strings.TrimSpace(part[:at]), strings.TrimSuffix(strings.TrimSpace(part[at+1:]), "%")
		x, err := strconv.ParseFloat(number, 64)
		if err != nil || !(x > 0) || x > 1e12 {
			return nil, false, assay.Errorf(assay.CodeInvalid, "the share %q of arm %q is no number above 0", number, arm).WithHint(hint)
		}
		if _, twice := shares[arm]; twice {
			return nil, false, assay.Errorf(assay.CodeInvalid, "arm %q has two shares", arm).WithHint(hint)
		}
		shares[arm] = x
	}
	return shares, false, nil
}
