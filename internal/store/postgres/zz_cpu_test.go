package postgres

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

func pgTicks() (n int64) {
	dirs, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, d := range dirs {
		b, err := os.ReadFile(d)
		if err != nil || !strings.Contains(string(b), "(postgres)") {
			continue
		}
		f := strings.Fields(string(b[strings.LastIndex(string(b), ")")+1:]))
		u, _ := strconv.ParseInt(f[11], 10, 64)
		s, _ := strconv.ParseInt(f[12], 10, 64)
		n += u + s
	}
	return n
}
