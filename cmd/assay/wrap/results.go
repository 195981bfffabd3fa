package wrap

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"assay/internal/assay"
	"assay/internal/harness/results"
)

// mostResults bounds what all cases take as JSON: a server takes 64 MiB with the rest.
const mostResults = 48 << 20

// results reads the result files that the command wrote. What is wrong with one is said, and changes nothing
// about the command's own status.
func (r *running) results() (cases []assay.Case) {
	room := int64(mostResults)
	var names results.Names
	for _, want := range r.Results {
		files, err := filepath.Glob(want.Path)
		if err == nil && len(files) == 0 {
			err = fmt.Errorf("there is no such file")
		}
		if err != nil {
			r.complain(want.Path, err)
		}
		for _, file := range files {
			err := r.result(want.Format, file, func(c assay.Case) error {
				names.Place(&c)
				raw, err := json.Marshal(c)
				if err != nil {
					return err
				}
				if room -= int64(len(raw)); room < 0 {
					return fmt.Errorf("its cases are larger than %d MiB in all: the rest is left out", mostResults>>20)
				}
				cases = append(cases, c)
				return nil
			})
			if err != nil {
				r.complain(file, err)
			}
		}
	}
	return cases
}

func (r *running) result(format assay.ResultFormat, file string, f func(assay.Case) error) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("it is not a regular file")
	}
	if r.before[file] == stampOf(info) {
		return fmt.Errorf("it is as it was before the run, so it is not its result")
	}
	return results.Read(format, filepath.Base(file), in, info.Size(), results.Options{Mask: r.masker}, f)
}

// stamp is by which a file that was written anew is known.
type stamp struct{ changed, size int64 }

func stampOf(info fs.FileInfo) stamp { return stamp{info.ModTime().UnixNano(), info.Size()} }

// noteResults remembers the files that were there before the command.
func (r *running) noteResults() {
	r.before = map[string]stamp{}
	for _, want := range r.Results {
		files, _ := filepath.Glob(want.Path) // a bad pattern is complained about at the end
		for _, file := range files {
			if info, err := os.Stat(file); err == nil {
				r.before[file] = stampOf(info)
			}
		}
	}
}

func (r *running) complain(file string, err error) {
	text := fmt.Sprintf("results %s: %s", file, err)
	r.Say("%s", text)
	r.log.Mark(mask(text, r.secrets))
}
