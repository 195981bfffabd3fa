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

// folder makes a data folder that cred can reach and owns.
func folder(cred *syscall.Credential) (string, error) {
	parent := os.TempDir()
	if cred != nil && !openToAll(parent) {
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, "assay-pgtest-")
	if err != nil {
		return "", err
	}
	if cred != nil {
		if err := os.Chown(dir, int(cred.Uid), int(cred.Gid)); err != nil {
			_ = os.RemoveAll(dir)
			return "", err
		}
	}
	return dir, nil
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
