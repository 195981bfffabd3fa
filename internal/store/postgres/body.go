package postgres

import (
	"context"

	"assay/internal/assay"
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
