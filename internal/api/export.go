package api

import (
	"bytes"
	"io"

	"github.com/danielgtaylor/huma/v2"

	"assay/internal/report/print"
)

// ExportInput says what a file is written as.
type ExportInput struct {
	Format string `query:"format" required:"true" enum:"text,markdown,html,csv,json,junit" doc:"junit: of a comparison"`
}

// exported is a file to keep. A browser saves HTML instead of showing it: it is of others' texts.
type exported struct {
	Type        string `header:"Content-Type"`
	Disposition string `header:"Content-Disposition"`
	Policy      string `header:"Content-Security-Policy"`
	Body        []byte
}

var endings = map[print.Format][2]string{
	print.Text: {"text/plain; charset=utf-8", ".txt"}, print.Markdown: {"text/markdown; charset=utf-8", ".md"}, print.HTML: {"text/html; charset=utf-8", ".html"},
	print.CSV: {"text/csv; charset=utf-8", ".csv"}, print.JSON: {"application/json", ".json"}, print.JUnit: {"application/xml", ".xml"},
}

func export(name, format string, write func(io.Writer, print.Format) error) (*exported, error) {
	f, err := print.ParseFormat(format)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := write(&out, f); err != nil {
		return nil, err
	}
	kind := endings[f]
	return &exported{
		Type: kind[0], Disposition: `attachment; filename="` + name + kind[1] + `"`, Policy: "default-src 'none'; style-src 'unsafe-inline'; sandbox", Body: out.Bytes(),
	}, nil
}

// exportResponses documents that the answer is a file.
func exportResponses() map[string]*huma.Response {
	content := map[string]*huma.MediaType{}
	for _, kind := range endings {
		content[kind[0]] = &huma.MediaType{Schema: &huma.Schema{Type: huma.TypeString}}
	}
	return map[string]*huma.Response{"200": {Description: "The file", Content: content}}
}
