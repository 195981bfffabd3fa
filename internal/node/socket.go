package node

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"syscall"

	"assay/internal/assay"
)

// maxSocketPath is what fits in sockaddr_un on every system that Assay runs on (104 on BSD, 108 on
// Linux), with room for the temporary names that some libraries append.
const maxSocketPath = 100

// SocketPath says where the owner of a data folder, or of a database, answers. A folder's socket
// lies in it; where that path is too long, and for a database, which has no folder, it lies in a
// folder of this user under the system's temporary one.
func SocketPath(dir, database string) (string, error) {
	if database != "" {
		return shortSocket(withoutPassword(database))
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", assay.Errorf(assay.CodeInvalid, "find data folder %s: %w", dir, err)
	}
	if path := filepath.Join(abs, "assay.sock"); len(path) <= maxSocketPath {
		return path, nil
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		abs = real // two names of one folder must meet at one socket
	}
	return shortSocket(abs)
}

func shortSocket(name string) (string, error) {
	sum := sha256.Sum256([]byte(name))
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("assay-%d", os.Getuid()))
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", assay.Errorf(assay.CodeInternal, "make folder for the socket: %w", err).
			WithHint("set TMPDIR to a folder that you may write to")
	}
	if err := private(dir); err != nil {
		return "", err
	}
	return filepath.Join(dir, hex.EncodeToString(sum[:8])+".sock"), nil
}

// private refuses a folder that another user could have put there to listen in our place.
func private(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return assay.Errorf(assay.CodeInternal, "look at %s: %w", dir, err)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm() != 0o700 || (ok && int(stat.Uid) != os.Getuid()) {
		return assay.Errorf(assay.CodeForbidden, "%s is not a folder that only you may enter", dir).
			WithHint("remove it, or `chmod 700` it if it is yours, or set TMPDIR")
	}
	return nil
}

func withoutPassword(database string) string {
	u, err := url.Parse(database)
	if err != nil || u.User == nil {
		return database
	}
	u.User = url.User(u.User.Username())
	return u.String()
}

// socket is the owner's listener and the identity of its file.
type socket struct {
	*net.UnixListener
	path string
	file os.FileInfo
}

// listenSocket is called by the holder of the lock only, so a file in the way is a dead owner's.
func listenSocket(path string) (*socket, error) {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, assay.Errorf(assay.CodeInternal, "remove old socket %s: %w", path, err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, assay.Errorf(assay.CodeInternal, "listen on %s: %w", path, err).
			WithHint("the data folder must lie on a file system that allows sockets")
	}
	// Closing must not remove the file by itself: after a lost lock it may be the next owner's.
	l.SetUnlinkOnClose(false)
	s := &socket{UnixListener: l, path: path}
	if err = os.Chmod(path, 0o600); err == nil {
		s.file, err = os.Lstat(path)
	}
	if err != nil {
		l.Close()
		return nil, assay.Errorf(assay.CodeInternal, "close %s to other users: %w", path, err)
	}
	return s, nil
}

func (s *socket) Accept() (net.Conn, error) {
	c, err := s.UnixListener.Accept()
	if err != nil {
		return nil, err
	}
	return buffered(c), nil
}

// unlink makes the socket impossible to find; those who found it are served on. Only while the lock
// is ours.
func (s *socket) unlink() {
	if now, err := os.Lstat(s.path); err == nil && os.SameFile(now, s.file) {
		os.Remove(s.path)
	}
}
