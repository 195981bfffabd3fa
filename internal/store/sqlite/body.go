package sqlite

import (
	"context"
	"encoding/hex"
	"encoding/json"

	"assay/internal/assay"
	"assay/internal/store"
)

type bodies struct{ s *Store }

func (b bodies) Get(ctx context.Context, key assay.ContentKey) (body []byte, hash assay.Hash, err error) {
	err = b.s.read.do(ctx, func(c *conn) error {
		found, err := c.first(ctx, func(r row) error {
			body, hash = r.blob(0), assay.Hash(r.text(1))
			return nil
		}, "SELECT b.body, c.hash FROM bodies b JOIN contents c ON c.id = b.content_id WHERE b.content_id = ?", key)
		if err == nil && !found {
			err = notFound("the text of content %d is not stored", key).WithHint("it was erased or its project was deleted")
		}
		return err
	})
	return body, hash, err
}

func (b bodies) Seen(ctx context.Context, project assay.ProjectID, hash assay.Hash) (text []byte, err error) {
	key, _ := hex.DecodeString(string(hash)) // what is no hash is not found
	err = b.s.read.do(ctx, func(c *conn) error {
		found, err := c.first(ctx, func(r row) error { text = r.blob(0); return nil },
			"SELECT text FROM seen WHERE project_id = ? AND hash = ?", project, key)
		if err == nil && !found {
			err = notFound("the transcript %s is not stored", hash).WithHint("it was erased, or it is of another project")
		}
		return err
	})
	return text, err
}

func (b bodies) Load(ctx context.Context, keys []assay.ContentKey, limit int) (map[assay.ContentKey]store.Body, error) {
	list, err := json.Marshal(keys)
	if err != nil {
		return nil, assay.Errorf(assay.CodeInternal, "load bodies: %w", err)
	}
	found := make(map[assay.ContentKey]store.Body, len(keys))
	err = b.s.read.do(ctx, func(c *conn) error {
		size := 0
		err := c.query(ctx, func(r row) error {
			body := store.Body{Text: r.blob(1), Hash: assay.Hash(r.text(2))}
			found[assay.ContentKey(r.int(0))] = body
			if size += len(body.Text); size > limit {
				return errStop
			}
			return nil
		}, `SELECT b.content_id, b.body, c.hash FROM json_each(?) k CROSS JOIN bodies b ON b.content_id = k.value
			JOIN contents c ON c.id = b.content_id`, string(list))
		if err == errStop {
			err = nil
		}
		return err
	})
	return found, err
}
