package shim

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

func readJSON(dir, name string, v any) error {
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if err == nil {
		err = json.Unmarshal(raw, v)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

// writeJSON makes a file appear whole and for good, or not at all. What is kept for it as its .new is used.
func writeJSON(dir, name string, v any) error {
	raw, err := json.Marshal(v)
	if err == nil {
		path := filepath.Join(dir, name)
		if err = writeSynced(path+".new", append(raw, '\n')); err == nil {
			err = os.Rename(path+".new", path)
		}
	}
	if err == nil {
		err = syncDir(dir)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// exitRoom is more than exit.json takes.
const exitRoom = 2 << 10

// keepRoom has room for exit.json on the disk, which the harness's output may fill. Without it the file is
// tried for a while.
func keepRoom(dir string) {
	_ = os.WriteFile(filepath.Join(dir, exitFile+".new"), bytes.Repeat([]byte{' '}, exitRoom), 0o600)
}

func writeSynced(path string, raw []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o600) // not emptied: the disk may be full since
	if err != nil {
		return err
	}
	_, err = f.Write(raw)
	if err == nil {
		err = f.Truncate(int64(len(raw)))
	}
	if err == nil {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	return err
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
