package api

import (
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"

	"assay/internal/assay"
)

// Budget is what a patch makes of a budget: an amount, or with nil none at all, which is null in JSON.
// Its zero value leaves the budget as it is, and is left out.
type Budget struct {
	Set bool
	USD *assay.USD
}

// SetBudget makes the Budget of a patch; nil removes.
func SetBudget(usd *assay.USD) Budget { return Budget{Set: true, USD: usd} }

// IsZero is for omitzero.
func (b Budget) IsZero() bool { return !b.Set }

// MarshalJSON writes a number of dollars or null.
func (b Budget) MarshalJSON() ([]byte, error) { return json.Marshal(b.USD) }

// UnmarshalJSON reads what MarshalJSON writes.
func (b *Budget) UnmarshalJSON(raw []byte) error {
	*b = Budget{Set: true}
	return json.Unmarshal(raw, &b.USD)
}

// Schema says so in the API document.
func (Budget) Schema(r huma.Registry) *huma.Schema {
	s := dollars{}.Schema(r)
	s.Nullable = true
	return s
}

// Validate refuses amounts that nobody means.
func (b Budget) Validate() error { return checkBudget(b.USD) }

func checkBudget(budget *assay.USD) error {
	if budget == nil {
		return nil
	}
	return budget.Validate()
}
