// Package resultfile finds the result files that a harness wrote: those which a suite's patterns mean and
// that are not what they were before it began. It looks at names, times and sizes; what is in them is for
// package results.
package resultfile

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"assay/internal/assay"
)

// Stamp tells two contents of a file apart without reading them. Times alone would depend on how exact the
// file system's are.
type Stamp struct {
	Time int64 `json:"t"` // nanoseconds since 1970
	Size int64 `json:"n"`
}

func stampOf(info fs.FileInfo) Stamp { return Stamp{info.ModTime().UnixNano(), info.Size()} }

// Stamps are of files by their paths.
type Stamps map[string]Stamp

// Note says which files the patterns mean now. A pattern that is no path from the root is of dir.
func Note(dir string, want []assay.ResultFile) Stamps {
	before := Stamps{}
	for _, w := range want {
		paths, _ := matches(dir, w.Path) // Written says what is wrong with it
		for _, path := range paths {
			if info, err := os.Stat(path); err == nil {
				before[path] = stampOf(info)
			}
		}
	}
	return before
}

// Found is what one pattern means.
type Found struct {
	assay.ResultFile
	Files []File
	None  error // why no file was written that it means
}

// File is one that was written.
type File struct {
	Path string
	Info fs.FileInfo
}

// Written says which files were written since the note, in the order of the patterns and by name. A file
// that several patterns mean stands with the first one, and counts for each.
func Written(dir string, want []assay.ResultFile, before Stamps) (all []Found) {
	taken := map[string]bool{}
	for _, w := range want {
		f := Found{ResultFile: w}
		paths, err := matches(dir, w.Path)
		f.None = err
		if err == nil {
			f.None = fmt.Errorf("the harness wrote no such file: none is there that is newer than its start")
		}
		written := false
		for _, path := range paths {
			info, err := os.Stat(path)
			if err != nil || before[path] == stampOf(info) {
				continue
			}
			if info.IsDir() {
				f.None = fmt.Errorf("%s is a folder, and no such file is there that is newer than the start", filepath.Base(path))
				continue
			}
			if written = true; !taken[path] {
				f.Files = append(f.Files, File{path, info})
			}
			taken[path] = true
		}
		if written {
			f.None = nil
		}
		all = append(all, f)
	}
	return all
}

// Open opens a regular file: another, such as a FIFO, would make whoever opens it wait.
func (f File) Open() (*os.File, error) {
	if !f.Info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", filepath.Base(f.Path))
	}
	return os.Open(f.Path)
}

// matches lists the files of a pattern below dir, sorted. However it is written, a file has one path.
func matches(dir, pattern string) ([]string, error) {
	if !filepath.IsAbs(pattern) {
		pattern = filepath.Join(escaped(dir), pattern)
	}
	list, err := filepath.Glob(filepath.Clean(pattern))
	slices.Sort(list)
	return list, err
}

// escaped makes a folder's name mean itself in a pattern.
func escaped(dir string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(dir)
}
