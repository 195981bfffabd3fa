package wrap

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"assay/internal/assay"
	"assay/internal/harness/resultfile"
	"assay/internal/harness/results"
)

// mostResults bounds what all cases take as JSON: a server takes 64 MiB with the rest.
const mostResults = 48 << 20

// results reads the result files that the command wrote. What is wrong with one is said, and changes nothing
// about the command's own status.
func (r *running) results() (cases []assay.Case, sums []assay.ResultSum) {
	room := int64(mostResults)
	var names results.Names
	for _, found := range resultfile.Written(r.folder, r.Results, r.before) {
		if found.None != nil {
			r.complain(found.Path, found.None)
			sums = append(sums, assay.ResultSum{Path: r.masker.Text(found.Path), Format: found.Format, Error: r.masker.Text(found.None.Error())})
		}
		for _, file := range found.Files {
			sum := assay.ResultSum{Path: r.masker.Text(r.named(file.Path)), Format: found.Format}
			err := r.result(found.Format, file, func(c assay.Case) error {
				names.Place(&c)
				raw, err := json.Marshal(c)
				if err != nil {
					return err
				}
				if room -= int64(len(raw)); room < 0 {
					return fmt.Errorf("its cases are larger than %d MiB in all: the rest is left out", mostResults>>20)
				}
				cases = append(cases, c)
				sum.Cases++
				return nil
			})
			if err != nil {
				r.complain(file.Path, err)
				sum.Error = r.masker.Text(err.Error())
			}
			sums = append(sums, sum)
		}
	}
	return cases, sums
}

// named is a file's path from the folder in which the command ran, where it lies below.
func (r *running) named(path string) string {
	if rel, err := filepath.Rel(r.folder, path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return path
}

func (r *running) result(format assay.ResultFormat, file resultfile.File, f func(assay.Case) error) error {
	in, err := file.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	return results.Read(format, filepath.Base(file.Path), in, file.Info.Size(), results.Options{Mask: r.masker}, f)
}

func (r *running) complain(file string, err error) {
	text := fmt.Sprintf("results %s: %s", file, err)
	r.Say("%s", text)
	r.log.Mark(text)
}
