package shim

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// maxSocket is what fits in the address of a socket on every system.
const maxSocket = 100

// socketAddress is the address of the launch's socket. Where its path is too long it leads over a
// descriptor of the folder, which done closes once the address was used.
func socketAddress(dir string) (address string, done func(), err error) {
	path := filepath.Join(dir, socketFile)
	if len(path) <= maxSocket {
		return path, func() {}, nil
	}
	if runtime.GOOS != "linux" {
		return "", nil, fmt.Errorf("the path %s is too long for a socket: use a data folder with a shorter one", path)
	}
	f, err := os.Open(dir)
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", f.Fd(), socketFile), func() { f.Close() }, nil
}
