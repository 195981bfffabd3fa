package logs

import (
	"context"
	"io"
	"path/filepath"
	"testing"
)

func BenchmarkWrite(b *testing.B) {
	for name, size := range map[string]int{"by line": 90, "by 64 KiB": 64 << 10} {
		for kind, secrets := range map[string][]string{"no secrets": nil, "5 secrets": manySecrets()} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				w := openWriter(b, filepath.Join(b.TempDir(), "log"), Options{Bound: 64 << 20, Secrets: secrets})
				block := chatty(1 << 20)
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					at := i * size % (len(block) - size)
					_, _ = w.Write(block[at : at+size])
				}
			})
		}
	}
}

// filledLog has so many bytes of chatty output.
func filledLog(b *testing.B, size int) string {
	b.Helper()
	dir := filepath.Join(b.TempDir(), "log")
	w := openWriter(b, dir, Options{Bound: 1 << 30})
	block := chatty(1 << 20)
	for range size / len(block) {
		_, _ = w.Write(block)
	}
	closeWriter(b, w)
	return dir
}

func BenchmarkFollow(b *testing.B) {
	dir := filledLog(b, 64<<20)
	b.SetBytes(64 << 20)
	for b.Loop() {
		if err := Follow(context.Background(), dir, 0, func() bool { return true }, func(Chunk) error { return nil }); err != nil {
			b.Fatal(err)
		}
	}
}

// What a follower costs while nothing comes, and what a page that asks for a place costs.
func BenchmarkLook(b *testing.B) {
	dir := filledLog(b, 250<<20)
	st, err := Size(dir)
	if err != nil {
		b.Fatal(err)
	}
	for name, f := range map[string]func() error{
		"idle poll": func() error {
			r := reader{dir: dir, at: st.Bytes, line: st.Lines}
			_, err := r.next(followBytes, false)
			return err
		},
		"size":      func() error { _, err := Size(dir); return err },
		"read":      func() error { _, err := Read(dir, st.Bytes/2+3<<20, 64<<10, false); return err },
		"tail":      func() error { _, err := Tail(dir, 100, 64<<10); return err },
		"find line": func() error { _, _, err := FindLine(dir, st.Lines-1000); return err },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := f(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCopy(b *testing.B) {
	dir := filledLog(b, 64<<20)
	b.SetBytes(64 << 20)
	for b.Loop() {
		if err := Copy(io.Discard, dir); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSearch(b *testing.B) {
	dir := filledLog(b, 256<<20)
	for name, text := range map[string]string{"plain": "not there", "wide": "größe"} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(256 << 20)
			b.ReportAllocs()
			for b.Loop() {
				if hits, _, err := Search(context.Background(), dir, text, 0, 10); err != nil || len(hits) > 0 {
					b.Fatal(hits, err)
				}
			}
		})
	}
}

func BenchmarkMasker(b *testing.B) {
	m := masker(b, manySecrets()...)
	block := chatty(64 << 10)
	var out []byte
	b.SetBytes(int64(len(block)))
	for b.Loop() {
		out = m.Append(out[:0], block)
	}
}
