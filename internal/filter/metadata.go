package filter

import (
	"encoding/json"
	"strconv"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"assay/internal/assay"
)

// metadata gives the scalars of the first turn. Whole numbers are ints, others doubles; CEL compares
// the two by value.
func metadata(h *assay.Head) any {
	values := make(map[string]any, len(h.Metadata))
	for k, raw := range h.Metadata {
		if v := scalar(raw); v != nil {
			values[k] = v
		}
	}
	return values
}

func scalar(raw json.RawMessage) ref.Val {
	if len(raw) == 0 {
		return nil
	}
	switch raw[0] {
	case 't':
		return types.True
	case 'f':
		return types.False
	case '"':
		var s string
		if json.Unmarshal(raw, &s) == nil {
			return types.String(s)
		}
	case '{', '[', 'n':
	default:
		if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
			return types.Int(n)
		}
		if f, err := strconv.ParseFloat(string(raw), 64); err == nil {
			return types.Double(f)
		}
	}
	return nil
}
