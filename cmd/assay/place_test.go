package main

import (
	"strings"
	"testing"
)

func TestAPlaceHidesPasswords(t *testing.T) {
	for server, want := range map[string]string{
		"http://me:secret@host:1/x": "the server http://me:xxxxx@host:1/x",
		"http://host:1":             "the server http://host:1",
		"http://me:secret@host:x":   "the server",
	} {
		if got := (globals{Server: server}).place(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := (globals{Database: "postgres://me:secret@host/db"}).place(); strings.Contains(got, "secret") {
		t.Error(got)
	}
}
