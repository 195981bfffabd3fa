package postgres

import (
	"context"
	"encoding/hex"
	"errors"

	"assay/internal/assay"
	"assay/internal/store"
)

type bodies struct{ *Store }

func (b bodies) Get(ctx context.Context, key assay.ContentKey) (body []byte, hash assay.Hash, err error) {
	err = b.read(ctx, func(ctx context.Context, c conn) error {
		body = nil
		found, err := c.first(ctx, "SELECT b.body, c.hash FROM bodies b JOIN contents c ON c.id = b.content_id WHERE b.content_id = $1",
			[]any{key}, &body, textTo(&hash))
		if err == nil && !found {
			err = notFound("the text of content %d is not stored", key).WithHint("it was erased or its project was deleted")
		}
		return err
	})
	return body, hash, err
}

func (b bodies) Seen(ctx context.Context, project assay.ProjectID, hash assay.Hash) (text []byte, err error) {
	key, _ := hex.DecodeString(string(hash)) // what is no hash is not found
	err = b.read(ctx, func(ctx context.Context, c conn) error {
		text = nil
		found, err := c.first(ctx, "SELECT text FROM seen WHERE project_id = $1 AND hash = $2", []any{project, key}, &text)
		if err == nil && !found {
			err = notFound("the transcript %s is not stored", hash).WithHint("it was erased, or it is of another project")
		}
		return err
	})
	return text, err
}

func (b bodies) Load(ctx context.Context, keys []assay.ContentKey, limit int) (map[assay.ContentKey]store.Body, error) {
	found := make(map[assay.ContentKey]store.Body, len(keys))
	ids := make([]int64, len(keys))
	for i, key := range keys {
		ids[i] = int64(key)
	}
	err := b.read(ctx, func(ctx context.Context, c conn) error {
		clear(found)
		size := 0
		var key int64
		var text []byte
		var hash assay.Hash
		err := c.each(ctx, func() error {
			found[assay.ContentKey(key)] = store.Body{Text: text, Hash: hash}
			if size += len(text); size > limit {
				return errEnough
			}
			text = nil
			return nil
		}, "SELECT b.content_id, b.body, c.hash FROM bodies b JOIN contents c ON c.id = b.content_id WHERE b.content_id = ANY($1)",
			[]any{ids}, &key, &text, textTo(&hash))
		if errors.Is(err, errEnough) {
			err = nil
		}
		return err
	})
	return found, err
}

// errEnough ends a query whose answer is long enough.
var errEnough = errors.New("enough was read")
