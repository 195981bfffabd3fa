package results

import (
	"archive/zip"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
	"github.com/tidwall/gjson"
)

// Bounds of what an archive may unpack to: 250 times its size and 64 MiB more, at most 8 GiB. Real logs
// shrink to a tenth or a fiftieth.
const (
	maxRatio  = 250
	maxSpare  = 64 << 20
	maxUnpack = 8 << 30
)

// errBomb says that an archive unpacks to more than any log does.
var errBomb = errors.New("it unpacks to far more than a log does; the rest was left out")

// archive is an .eval log: a zip with a header, and an entry a sample.
type archive struct {
	files map[string]*zip.File // of a name that is there twice, the last: later entries mend earlier ones
	left  int64                // bytes that may still be unpacked
	o     *out
}

func readInspectZip(r io.ReaderAt, size int64, o *out) error {
	z, err := zip.NewReader(r, size)
	if err != nil {
		o.faults.add("", "it is no whole archive (%s): was the harness killed while it wrote?", strings.TrimPrefix(err.Error(), "zip: "))
		return nil
	}
	const methodZstd = 93
	z.RegisterDecompressor(methodZstd, zstd.ZipDecompressor(zstd.WithDecoderMaxMemory(64<<20), zstd.WithDecoderConcurrency(1)))
	a := &archive{files: map[string]*zip.File{}, left: min(maxUnpack, maxSpare+maxRatio*size), o: o}
	var samples []string
	for _, f := range z.File {
		if _, there := a.files[f.Name]; !there && isSample(f.Name) {
			samples = append(samples, f.Name)
		}
		a.files[f.Name] = f
	}
	sortByNumbers(samples)
	e := a.header()
	given := o.given
	for _, name := range samples {
		if err := a.read(name, func(d *document) error { return sample(d, e, o) }); err != nil {
			return err
		}
	}
	e.noSamples = len(samples) == 0 && e.said != 0
	e.ends(o, o.given-given)
	return nil
}

func isSample(name string) bool {
	return strings.HasPrefix(name, "samples/") && strings.HasSuffix(name, ".json")
}

// header reads what the log says of itself; of one that did not end, what was written when it began.
func (a *archive) header() *eval {
	e := newEval()
	if a.files["header.json"] != nil {
		_ = a.read("header.json", func(d *document) error {
			if d.PeekKind() != '{' {
				return d.SkipValue()
			}
			return e.members(d, d.SkipValue)
		})
	}
	if !e.known && a.files["_journal/start.json"] != nil {
		e.status = "started"
		_ = a.read("_journal/start.json", func(d *document) error {
			raw, _, err := d.keep(want{"eval": wantEval})
			if err == nil {
				e.member("eval", gjson.ParseBytes(raw).Get("eval"))
			}
			return err
		})
	}
	return e
}

// read opens an entry and has it used. What is wrong with it is told and ends this entry alone; what comes
// back ends all.
func (a *archive) read(name string, use func(*document) error) error {
	in, err := a.files[name].Open()
	if err != nil {
		a.o.faults.add(name, "it cannot be unpacked: %s", strings.TrimPrefix(err.Error(), "zip: "))
		return nil
	}
	defer in.Close()
	d := open(&unpacked{in, a}, name, a.o)
	if err = use(d); err == nil {
		err = d.end() // and the checksum stands there
	}
	switch {
	case err == nil:
		return nil
	case fatal(err):
		return err
	}
	d.broken(err)
	if errors.Is(err, errBomb) {
		return errEnough
	}
	return nil
}

// unpacked counts what comes out of an entry.
type unpacked struct {
	in io.Reader
	a  *archive
}

func (u *unpacked) Read(p []byte) (int, error) {
	if u.a.left <= 0 {
		return 0, errBomb
	}
	n, err := u.in.Read(p[:min(int64(len(p)), u.a.left)])
	u.a.left -= int64(n)
	return n, err
}

// number is a number in a name.
var number = regexp.MustCompile(`[0-9]+`)

// sortByNumbers orders names so that 2 comes before 10.
func sortByNumbers(names []string) {
	long := make(map[string]string, len(names))
	for _, name := range names {
		long[name] = number.ReplaceAllStringFunc(name, func(n string) string { return strings.Repeat("0", max(0, 20-len(n))) + n })
	}
	slices.SortStableFunc(names, func(a, b string) int { return strings.Compare(long[a], long[b]) })
}
