package process

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// cgroup is a control group (v2) that holds one tree and nothing else. A nil *cgroup is none: its
// methods do nothing.
type cgroup struct {
	dir string
	fd  *os.File // while it is entered
}

// CgroupOf is the folder of the control group that a tree with this mark gets when a process of the same group
// as this one starts it, "" where there is none of version 2. Who notes it before the start finds the folder
// however the start goes on.
func CgroupOf(mark string) string {
	own := ownCgroup()
	if own == "" || mark == "" {
		return ""
	}
	name := sha256.Sum256([]byte(mark)) // the mark itself may hold what no name can
	return filepath.Join(own, "assay-"+hex.EncodeToString(name[:16]))
}

// newCgroup makes one below that of this process; nil where that cannot be done. No two ever have one
// name, as no two trees have one mark: what is written down of one must not mean another later.
func newCgroup(mark string) *cgroup {
	if mark == "" {
		mark = rand.Text()
	}
	dir := CgroupOf(mark)
	if dir == "" {
		return nil
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil
	}
	c := &cgroup{dir: dir}
	if _, err := os.Stat(filepath.Join(dir, "cgroup.kill")); err != nil {
		c.remove() // a kernel before 5.14
		return nil
	}
	return c
}

// ownCgroup is the folder of this process's control group, "" where there is none of version 2.
func ownCgroup() string {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	for line := range bytes.Lines(mounts) {
		fields, kind, ok := strings.Cut(string(line), " - ")
		if f := strings.Fields(fields); ok && strings.HasPrefix(kind, "cgroup2 ") && len(f) > 4 {
			for group := range bytes.Lines(groups) {
				if path, ok := strings.CutPrefix(strings.TrimSpace(string(group)), "0::"); ok {
					return filepath.Join(f[4], path)
				}
			}
		}
	}
	return ""
}

func cgroupAt(dir string) *cgroup {
	if dir == "" {
		return nil
	}
	return &cgroup{dir: dir}
}

func (c *cgroup) path() string {
	if c == nil {
		return ""
	}
	return c.dir
}

// enter makes a child begin its life in c.
func (c *cgroup) enter(attributes *syscall.SysProcAttr) {
	if c == nil {
		return
	}
	f, err := os.Open(c.dir)
	if err != nil {
		return
	}
	c.fd = f
	attributes.UseCgroupFD, attributes.CgroupFD = true, int(f.Fd())
}

// entered lets go of what enter opened.
func (c *cgroup) entered() {
	if c != nil && c.fd != nil {
		c.fd.Close()
		c.fd = nil
	}
}

// kill kills all that is in c, whatever it does meanwhile.
func (c *cgroup) kill() {
	if c != nil {
		if f, err := os.OpenFile(filepath.Join(c.dir, "cgroup.kill"), os.O_WRONLY, 0); err == nil {
			f.WriteString("1")
			f.Close()
		}
	}
}

// processes lists what is in c and in groups that were made below it.
func (c *cgroup) processes() (pids []int) {
	if c == nil {
		return nil
	}
	filepath.WalkDir(c.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != "cgroup.procs" {
			return nil
		}
		raw, _ := os.ReadFile(path)
		for _, f := range bytes.Fields(raw) {
			if pid, err := strconv.Atoi(string(f)); err == nil && pid != 0 {
				pids = append(pids, pid)
			}
		}
		return nil
	})
	return pids
}

// remove takes c away, and groups that were made below it, once nothing lives there.
func (c *cgroup) remove() {
	if c == nil {
		return
	}
	c.entered()
	var dirs []string
	filepath.WalkDir(c.dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return nil
	})
	for _, dir := range slices.Backward(dirs) { // the innermost first
		// The last threads may be on their way out of the kernel.
		for range 100 {
			if err := os.Remove(dir); !errors.Is(err, syscall.EBUSY) {
				break
			}
			time.Sleep(2 * time.Millisecond)
		}
	}
}
