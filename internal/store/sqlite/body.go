package sqlite

import (
	"context"

	"assay/internal/assay"
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
