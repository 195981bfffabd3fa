package logs

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
)

// FindLine finds where a line begins; lines count from 1. Of a line that is not stored any more, or begins
// where it is not, it finds the next byte that is stored; of one that is not there yet, the end. actual is
// the line in which the byte at offset lies: what Read says of that offset, plus one.
func FindLine(dir string, line int64) (offset, actual int64, err error) {
	p, err := stable(func() (place, error) {
		list, err := segments(dir)
		if err != nil {
			return place{}, err
		}
		return findLine(dir, list, max(1, line)-1)
	})
	return p.offset, p.line + 1, err
}

// place is an offset and the lines before it.
type place struct{ offset, line int64 }

func findLine(dir string, list []segment, before int64) (place, error) {
	if len(list) == 0 {
		return place{}, nil
	}
	i := 0 // the last segment before which fewer lines ended than before the line
	for i+1 < len(list) && list[i+1].line < before {
		i++
	}
	s := &list[i]
	if s.line >= before {
		return place{s.offset, s.line}, nil
	}
	f, err := s.open(dir)
	if errors.Is(err, fs.ErrNotExist) && len(list) > i+1 { // it went away since it was listed
		return findLine(dir, slices.Delete(list, i, i+1), before)
	}
	if err != nil {
		return place{}, err
	}
	defer f.Close()
	p := place{s.end(), s.line}
	err = scan(f, s.size, func(from int64, part []byte) bool {
		n := int64(bytes.Count(part, newline))
		if p.line+n < before {
			p.line += n
			return true
		}
		p.offset = s.offset + from
		for ; p.line < before; p.line++ {
			n := bytes.IndexByte(part, '\n') + 1
			p.offset, part = p.offset+int64(n), part[n:]
		}
		return false
	})
	if p.offset == s.end() && i+1 < len(list) {
		p = place{list[i+1].offset, list[i+1].line}
	}
	return p, err
}
