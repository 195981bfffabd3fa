package sqlite

import (
	"encoding/base64"
	"encoding/json"

	"assay/internal/assay"
	"assay/internal/store"
)

const defaultLimit = 100

func limitOf(p store.Page) int {
	if p.Limit <= 0 {
		return defaultLimit
	}
	return p.Limit
}

// A cursor is the key of the last row of a page.
func encodeCursor(key any) string {
	b, err := json.Marshal(key)
	if err != nil {
		panic("sqlite: encode cursor: " + err.Error()) // keys are numbers and texts
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// decodeCursor fills key and says whether there was a cursor.
func decodeCursor(cursor string, key any) (bool, error) {
	if cursor == "" {
		return false, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err == nil {
		err = json.Unmarshal(b, key)
	}
	if err != nil {
		return false, assay.Errorf(assay.CodeInvalid, "cursor %q is not one of ours", cursor).WithHint("use the cursor of the page before as it came")
	}
	return true, nil
}

// page cuts the row that was read beyond the limit and makes the cursor of what follows.
func page[T any](rows []T, limit int, key func(T) any) ([]T, string) {
	if len(rows) <= limit {
		return rows, ""
	}
	rows = rows[:limit]
	return rows, encodeCursor(key(rows[limit-1]))
}
