// Package web serves the page at /.
//
// It owns HTML and CSS, both embedded. It refuses to know the store: what it shows is api.Overview. Its
// invariant: the page runs no script, loads nothing from elsewhere and changes nothing.
package web
