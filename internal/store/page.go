package store

import (
	"encoding/base64"
	"encoding/json"

	"assay/internal/assay"
)

// Page asks for up to Limit rows after Cursor. Cursors are opaque to callers and stable under
// concurrent inserts.
type Page struct {
	Cursor string
	Limit  int
}

const (
	defaultLimit = 100
	maxLimit     = 10_000
)

// PageBytes is how much of what cases or verdicts say a page holds; one alone may say more. Of heads of cases,
// which keep little of it, so much is read.
const PageBytes = 4 << 20

// Rows is how many rows the page may hold, for implementations: they read one more to know whether
// there is a next page.
func (p Page) Rows() int {
	if p.Limit <= 0 {
		return defaultLimit
	}
	return min(p.Limit, maxLimit)
}

// After fills key, the key of the last row of the page before, and says whether there was one.
func (p Page) After(key any) (bool, error) {
	if p.Cursor == "" {
		return false, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(p.Cursor)
	if err == nil {
		err = json.Unmarshal(b, key)
	}
	if err != nil {
		return false, assay.Errorf(assay.CodeInvalid, "cursor %q is not one of ours", p.Cursor).WithHint("use the cursor of the page before as it came")
	}
	return true, nil
}

// CutPage cuts the row that was read beyond the limit and makes the cursor of what follows. Keys are
// numbers and texts.
func CutPage[T any](rows []T, limit int, key func(T) any) ([]T, string) {
	if len(rows) <= limit {
		return rows, ""
	}
	rows = rows[:limit]
	return rows, Cursor(key(rows[limit-1]))
}

// Cursor is the cursor of what comes after the row with this key.
func Cursor(key any) string {
	b, err := json.Marshal(key)
	if err != nil {
		panic("store: encode cursor: " + err.Error())
	}
	return base64.RawURLEncoding.EncodeToString(b)
}
