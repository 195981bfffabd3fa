package web

import (
	"bytes"
	"context"
	"embed"
	"html/template"
	"net/http"

	"assay/internal/api"
	"assay/internal/assay"
)

//go:embed page.html style.css icon.svg
var files embed.FS

// policy allows the page its own style sheet and icon, and nothing else.
const policy = "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// New makes the handler that serves the page at / and everything else through next, the API. Like
// next it must be served through api.Guard.
func New(overview func(context.Context) (api.Overview, error), next http.Handler) http.Handler {
	page := template.Must(template.New("page.html").Funcs(words()).ParseFS(files, "page.html"))
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		o, err := overview(r.Context())
		show(w, page, view{Overview: o, Err: err})
	})
	mux.HandleFunc("GET /style.css", asset("style.css", "text/css; charset=utf-8"))
	mux.HandleFunc("GET /icon.svg", asset("icon.svg", "image/svg+xml"))
	mux.Handle("/", next)
	return mux
}

// view is what the template sees.
type view struct {
	api.Overview
	Err error
}

// Standing is how a suite stands: as its newest run does.
func (v view) Standing(s api.SuiteStanding) string {
	if s.Newest == nil {
		return s.State
	}
	for _, r := range v.Active {
		if r.ID == s.Newest.ID {
			return standing(r)
		}
	}
	return state(*s.Newest)
}

// Refresh is after how many seconds the browser asks again: often while something runs.
func (v view) Refresh() int {
	if len(v.Active) > 0 || v.Err != nil {
		return 3
	}
	return 30
}

// Message tells the error without what must stay in the process.
func (v view) Message() string {
	if assay.CodeOf(v.Err) == assay.CodeInternal {
		return "The database did not answer."
	}
	return v.Err.Error()
}

// show renders first and writes then, so that a half page is never sent.
func show(w http.ResponseWriter, page *template.Template, v view) {
	var out bytes.Buffer
	if err := page.Execute(&out, v); err != nil {
		http.Error(w, "the page could not be made", http.StatusInternalServerError)
		return
	}
	h := w.Header()
	protect(h)
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	if v.Err != nil {
		w.WriteHeader(api.Status(assay.CodeOf(v.Err)))
	}
	_, _ = w.Write(out.Bytes())
}

func protect(h http.Header) {
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
}

func asset(name, contentType string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		raw, err := files.ReadFile(name)
		if err != nil {
			http.Error(w, name+" is missing", http.StatusInternalServerError)
			return
		}
		protect(w.Header())
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Cache-Control", "max-age=300")
		_, _ = w.Write(raw)
	}
}
