package command

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"assay/internal/assay"
)

// File is one file that a command consists of: its place in argv and the hash of its content.
type File struct {
	Arg  int        `json:"arg"`
	Hash assay.Hash `json:"hash"`
}

// program is a command found on this machine.
type program struct {
	argv  []string // argv[0] as a path
	dir   string
	files []seen
}

// seen is a file and what its directory said when it was hashed.
type seen struct {
	File
	path  string
	size  int64
	mtime time.Time
}

// find resolves argv[0] (a path relative to folder, or a name on path) and hashes it and every
// argument that names a file: those are the program. What these files load is beyond the hash.
func find(argv []string, folder, path string) (program, error) {
	p := program{argv: append([]string(nil), argv...), dir: folder}
	first, err := lookPath(argv[0], folder, path)
	if err != nil {
		return p, err
	}
	p.argv[0] = first
	for i, arg := range p.argv {
		file := arg
		if !filepath.IsAbs(file) {
			file = filepath.Join(folder, file)
		}
		info, err := os.Stat(file)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		hash, err := hashFile(file)
		if err != nil {
			return p, assay.Errorf(assay.CodeInvalid, "read the command's file %s: %w", file, err).WithHint("make it readable for the user that runs assay")
		}
		p.files = append(p.files, seen{File{i, hash}, file, info.Size(), info.ModTime()})
	}
	return p, nil
}

func lookPath(name, folder, path string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(folder, name)
		}
		found, err := exec.LookPath(name)
		if err != nil {
			return "", assay.Errorf(assay.CodeInvalid, "the command's program %s cannot be run: %w", name, err).
				WithHint("give the path of an executable file, relative to the folder of the judge's YAML")
		}
		return found, nil
	}
	for _, dir := range filepath.SplitList(path) {
		if found, err := exec.LookPath(filepath.Join(dir, name)); err == nil && filepath.IsAbs(found) {
			return found, nil
		}
	}
	return "", assay.Errorf(assay.CodeInvalid, "the command's program %s is not on PATH", name).
		WithHint("install it, or write ./%s for a file beside the judge's YAML", name)
}

func hashFile(path string) (assay.Hash, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", err
	}
	return assay.Hash(hex.EncodeToString(sum.Sum(nil))), nil
}

// changed names a file that is no longer the one that was hashed, or "".
func (p *program) changed() string {
	for _, f := range p.files {
		info, err := os.Stat(f.path)
		if err != nil {
			return f.path
		}
		if info.Size() == f.size && info.ModTime().Equal(f.mtime) {
			continue
		}
		if hash, err := hashFile(f.path); err != nil || hash != f.Hash {
			return f.path
		}
	}
	return ""
}
