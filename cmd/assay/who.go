package main

import (
	"errors"
	"io/fs"
	"os/user"

	"assay/internal/assay"
)

// who asks, for the rows that keep it.
func who() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

// plain drops the path from an error of the file system: the message names it already.
func plain(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// errDetail is a machine-readable fact of an error of ours.
func errDetail(err error, key string) string {
	var e *assay.Error
	if errors.As(err, &e) {
		return e.Details[key]
	}
	return ""
}
