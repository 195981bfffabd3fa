package client

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/store"
)

// Import streams a file to the server and returns what became of it. progress, where given, hears
// how many bytes were sent so far; it is called from another goroutine, one call at a time. Under
// strict a file with a bad session is CodeRejected, with the import's number in Details["import"].
func (c *Client) Import(ctx context.Context, name string, o assay.ImportOptions, file io.Reader, progress func(sent int64)) (imp store.Import, err error) {
	v := url.Values{}
	put(v, "file", o.File)
	put(v, "format", o.Format)
	put(v, "by", o.By)
	putBool(v, "strict", o.Strict)
	// Hidden behind a plain reader, so that its length and type stay unknown and it is streamed.
	req, err := c.request(ctx, http.MethodPost, project(name, "imports"), v, &upload{file: o.File, from: file, progress: progress})
	if err != nil {
		return imp, err
	}
	req.Header.Set("Content-Type", "application/x-ndjson")
	// A refusal then comes before the file is sent, and is read rather than lost to a broken pipe.
	req.Header.Set("Expect", "100-continue")
	return imp, c.send(req, &imp)
}

// upload counts what was read of a file. That it cannot be read is the file's fault, not the server's.
type upload struct {
	file     string
	from     io.Reader
	sent     int64
	progress func(int64)
}

func (u *upload) Read(b []byte) (int, error) {
	n, err := u.from.Read(b)
	u.sent += int64(n)
	if u.progress != nil && n > 0 {
		u.progress(u.sent)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err // the name is said already
		}
		err = assay.Errorf(assay.CodeInternal, "read %s: %w", u.file, err).
			WithHint("what was read before is stored; import the file again when it can be read to add the rest")
	}
	return n, err
}

// Imports pages through a project's imports.
func (c *Client) Imports(ctx context.Context, name string, p store.Page) (out api.Page[store.Import], err error) {
	return out, c.do(ctx, call{method: http.MethodGet, path: project(name, "imports"), query: paged(p)}, &out)
}

// Rejects pages through what an import did not take.
func (c *Client) Rejects(ctx context.Context, name string, id int64, p store.Page) (out api.Page[store.Reject], err error) {
	return out, c.do(ctx, call{method: http.MethodGet, path: project(name, "imports", strconv.FormatInt(id, 10), "rejects"), query: paged(p)}, &out)
}
