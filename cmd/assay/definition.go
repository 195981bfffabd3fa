package main

import (
	"os"
	"path/filepath"

	"assay/internal/api"
	"assay/internal/assay"
)

// readDefinition reads a judge's definition with the folder that its command's paths begin in.
func readDefinition(a *app, name string) (api.JudgeSource, error) {
	if name == "-" {
		source, err := readAll(a.in)
		if err != nil {
			return api.JudgeSource{}, err
		}
		folder, err := filepath.Abs(".")
		return api.JudgeSource{Source: source, Folder: folder}, err
	}
	raw, err := os.ReadFile(name)
	if err != nil {
		return api.JudgeSource{}, assay.Errorf(assay.CodeNotFound, "open %s: %w", name, plain(err))
	}
	folder, err := filepath.Abs(filepath.Dir(name))
	return api.JudgeSource{Source: string(raw), Folder: folder}, err
}
