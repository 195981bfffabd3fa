package provider

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
)

// keyFile is a key in a file that somebody may replace.
type keyFile struct {
	path string

	mu   sync.Mutex
	info fs.FileInfo // of the content that held is
	held string
}

func (f *keyFile) key(context.Context) (string, error) {
	info, err := os.Stat(f.path)
	if err != nil {
		return "", fmt.Errorf("the key file cannot be read: %w; api_key_file names it", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.info != nil && os.SameFile(f.info, info) && f.info.ModTime().Equal(info.ModTime()) && f.info.Size() == info.Size() {
		return f.held, nil
	}
	const most = 64 << 10
	if info.IsDir() || info.Size() > most {
		return "", fmt.Errorf("the key file %s is no file of a key", f.path)
	}
	raw, err := os.ReadFile(f.path)
	if err != nil {
		return "", fmt.Errorf("the key file cannot be read: %w; api_key_file names it", err)
	}
	key := strings.TrimSpace(string(raw))
	if key == "" {
		return "", fmt.Errorf("the key file %s is empty; put the key into it", f.path)
	}
	f.info, f.held = info, key
	return key, nil
}

func (f *keyFile) name() string { return f.path }

// refused forgets the file's state too: a file may be replaced within the resolution of its time.
func (f *keyFile) refused(string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.info = nil
}
