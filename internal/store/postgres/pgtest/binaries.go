package pgtest

import (
	"errors"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
	"syscall"
)

// binDir finds the folder that holds initdb and postgres.
func binDir() (string, error) {
	var dirs []string
	for _, name := range []string{"initdb", "postgres"} {
		if path, err := exec.LookPath(name); err == nil {
			if real, err := filepath.EvalSymlinks(path); err == nil {
				dirs = append(dirs, filepath.Dir(real))
			}
		}
	}
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin", "/opt/homebrew/opt/postgresql*/bin", "/usr/local/opt/postgresql*/bin"} {
		found, _ := filepath.Glob(pattern)
		sort.Sort(sort.Reverse(sort.StringSlice(found)))
		dirs = append(dirs, found...)
	}
	for _, dir := range dirs {
		if isFile(filepath.Join(dir, "initdb")) && isFile(filepath.Join(dir, "postgres")) {
			return dir, nil
		}
	}
	return "", errors.New("PostgreSQL's initdb and postgres are not installed (looked in PATH, pg_config --bindir, /usr/lib/postgresql/*/bin)")
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// account is who the server runs as: nil is ourselves. PostgreSQL refuses to run as root.
func account() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, errU := strconv.ParseUint(u.Uid, 10, 32)
		gid, errG := strconv.ParseUint(u.Gid, 10, 32)
		if errU == nil && errG == nil {
			return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid), NoSetGroups: false}, nil
		}
	}
	return nil, errors.New("PostgreSQL does not run as root and there is no user postgres or nobody to run it as")
}

const (
	folderPrefix = "assay-pgtest-"
	pidFile      = "process" // names the process that made the folder
)

// folder makes a folder that cred can reach and owns, and removes those of processes that died without
// removing theirs.
func folder(cred *syscall.Credential) (string, error) {
	parent := os.TempDir()
	if cred != nil && !openToAll(parent) {
		parent = "/tmp"
	}
	sweep(parent)
	dir, err := os.MkdirTemp(parent, folderPrefix)
	if err != nil {
		return "", err
	}
	err = os.WriteFile(filepath.Join(dir, pidFile), []byte(strconv.Itoa(os.Getpid())), 0o644)
	if err == nil && cred != nil {
		err = os.Chown(dir, int(cred.Uid), int(cred.Gid))
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return "", err
	}
	return dir, nil
}

func sweep(parent string) {
	found, _ := filepath.Glob(filepath.Join(parent, folderPrefix+"*"))
	for _, dir := range found {
		text, err := os.ReadFile(filepath.Join(dir, pidFile))
		if err != nil {
			continue
		}
		if pid, err := strconv.Atoi(string(text)); err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
			_ = os.RemoveAll(dir)
		}
	}
}

// openToAll says whether every folder from the root to dir may be entered by anyone.
func openToAll(dir string) bool {
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
		dir = filepath.Dir(dir)
	}
}
