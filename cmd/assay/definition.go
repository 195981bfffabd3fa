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

// applyDefinitions sends files to apply, one after the other; what is wrong with one names it.
func applyDefinitions(a *app, names []string, apply func(d *door, name string, file api.DefinitionFile) error) (*door, error) {
	files, err := readDefinitions(a, names)
	if err != nil {
		return nil, err
	}
	d, err := a.look()
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		if err := apply(d, name, files[i]); err != nil {
			return nil, assay.About(name, err)
		}
	}
	return d, nil
}

// readDefinitions reads files of suites and schedules; errors of what they say name the file as it was given.
func readDefinitions(a *app, names []string) ([]api.DefinitionFile, error) {
	files := make([]api.DefinitionFile, len(names))
	for i, name := range names {
		at := name
		if name == "-" {
			at = "stdin.yaml" // it lies nowhere: folders begin here
		}
		abs, err := filepath.Abs(at)
		if err != nil {
			return nil, assay.Errorf(assay.CodeInternal, "find %s: %w", name, err)
		}
		source, err := readDefinition(a, name)
		if err != nil {
			return nil, err
		}
		files[i] = api.DefinitionFile{Source: source.Source, File: abs}
	}
	return files, nil
}
