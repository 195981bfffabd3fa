package process

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Find is where the program argv0 is, as a process with this folder and environment would find it: by
// its PATH where the name has no slash, else relative to its folder. The error says what is missing.
func Find(argv0, dir string, env []string) (string, error) {
	if argv0 == "" {
		return "", errors.New("no program is named")
	}
	if strings.Contains(argv0, "/") {
		path := argv0
		if !filepath.IsAbs(path) {
			path = filepath.Join(dir, path)
		}
		return path, executable(path)
	}
	search, set := "", false
	for _, e := range env {
		if value, ok := strings.CutPrefix(e, "PATH="); ok {
			search, set = value, true
		}
	}
	if !set {
		return "", fmt.Errorf("find %s: the environment has no PATH", argv0)
	}
	for _, folder := range filepath.SplitList(search) {
		if folder == "" {
			folder = "."
		}
		if !filepath.IsAbs(folder) {
			folder = filepath.Join(dir, folder)
		}
		if path := filepath.Join(folder, argv0); executable(path) == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("find %s: it is in no folder of PATH (%s): %w", argv0, search, os.ErrNotExist)
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a folder", path)
	case info.Mode()&0o111 == 0:
		return fmt.Errorf("%s may not be executed: %w", path, os.ErrPermission)
	}
	return nil
}

// Enterable says why a process of ours could not work in dir. Asked first, because a failed start does not
// tell whether the folder or the program was the cause.
func Enterable(dir string) error {
	if dir == "" {
		return nil
	}
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("enter folder: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("enter folder: %s is not a folder", dir)
	}
	if err := unix.Faccessat(unix.AT_FDCWD, dir, unix.X_OK, unix.AT_EACCESS); err != nil {
		return fmt.Errorf("enter folder %s: %w", dir, err)
	}
	return nil
}

// explain says what the kernel's refusal to start a program that is there means.
func explain(path string, err error) error {
	var number syscall.Errno
	if !errors.As(err, &number) {
		return fmt.Errorf("start %s: %w", path, err)
	}
	why := ""
	switch number {
	case syscall.ENOENT:
		why = " (the interpreter or loader that it names is missing)"
	case syscall.ENOEXEC:
		why = " (it is neither a program for this machine nor a script that begins with #!)"
	case syscall.E2BIG:
		why = " (its arguments and environment are too long)"
	}
	return fmt.Errorf("start %s: %w%s", path, number, why)
}
