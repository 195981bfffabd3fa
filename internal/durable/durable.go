// Package durable makes files that are there after a power cut.
//
// It owns the order of the steps: a file's bytes reach the disk before its name does, and a name before
// anything that is told of it. It imports nothing of ours. Its invariant: a file that it wrote is whole, or
// as it was before; one whose writing returned is there whatever happens.
package durable

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Disk is what a disk is asked for in an order that matters. The zero Disk is the real one; a test puts its
// own functions there, to see the order or to let a step fail.
type Disk struct {
	Sync   func(*os.File) error // of a file, or of a folder: its names
	Rename func(from, to string) error
}

// SyncFile makes what was written to f durable.
func (d Disk) SyncFile(f *os.File) error {
	if d.Sync != nil {
		return d.Sync(f)
	}
	return f.Sync()
}

func (d Disk) rename(from, to string) error {
	if d.Rename != nil {
		return d.Rename(from, to)
	}
	return os.Rename(from, to)
}

// New is the end of the name under which a file is written before it gets its own. What is there already
// under that name is written over, not emptied first: it may be room that was kept for it on a full disk.
const New = ".new"

// Write makes a file appear whole and for good, or not at all. Only this user can read it.
func (d Disk) Write(dir, name string, raw []byte) error {
	path := filepath.Join(dir, name)
	err := d.write(path+New, raw)
	if err == nil {
		err = d.rename(path+New, path)
	}
	if err == nil {
		err = d.SyncPath(dir)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

func (d Disk) write(path string, raw []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	if err == nil {
		err = f.Truncate(int64(len(raw)))
	}
	if err == nil {
		err = d.SyncFile(f)
	}
	return errors.Join(err, f.Close())
}

// SyncPath makes what was written to a file durable, or the names in a folder.
func (d Disk) SyncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return d.SyncFile(f)
}

// MakeFolder makes a folder, with those above it that are missing, for this user only and for good.
func (d Disk) MakeFolder(path string) error {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil
	}
	above := filepath.Dir(path)
	if above != path {
		if err := d.MakeFolder(above); err != nil {
			return err
		}
	}
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return d.SyncPath(above)
}

// WriteJSON is Write of a value, as a line of JSON.
func (d Disk) WriteJSON(dir, name string, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return d.Write(dir, name, append(raw, '\n'))
}

// ReadJSON reads what WriteJSON wrote. A file that is not there is fs.ErrNotExist.
func ReadJSON(dir, name string, v any) error {
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if err == nil {
		err = json.Unmarshal(raw, v)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}
