package results

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"assay/internal/assay"
)

// maxLine bounds a line that is read, in bytes: more than four texts of the most length, each character
// written the longest way.
const maxLine = 8 << 20

// readOwn reads our own format, docs/formats/results.md: a case a line, or a JSON array of cases.
func readOwn(r io.ReaderAt, size int64, o *out) error {
	in := bufio.NewReaderSize(io.NewSectionReader(r, 0, size), 64<<10)
	if b, _ := in.Peek(3); string(b) == "\xEF\xBB\xBF" {
		_, _ = in.Discard(3)
	}
	first, err := firstByte(in)
	switch {
	case err == io.EOF:
		o.faults.add("", "it is empty")
		return nil
	case err != nil:
		return err
	case first == '[':
		return readOwnArray(whole(r, size, o))
	}
	return readOwnLines(bufio.NewReaderSize(io.NewSectionReader(r, 0, size), 64<<10), o)
}

// firstByte is the first byte that is no white space.
func firstByte(in *bufio.Reader) (byte, error) {
	for {
		c, err := in.ReadByte()
		if err != nil || c != ' ' && c != '\t' && c != '\r' && c != '\n' {
			return c, err
		}
	}
}

func readOwnArray(d *document) error {
	n := 0
	err := d.array(func() error {
		n++
		return ownCase(d, fmt.Sprintf("case %d", n), func() error { return nil })
	})
	if err == nil {
		err = d.end()
	}
	if err != nil && !fatal(err) {
		d.broken(err)
		return nil
	}
	return err
}

// readOwnLines reads a case a line. A line that cannot be read costs that line alone.
func readOwnLines(in *bufio.Reader, o *out) error {
	for n := 1; ; n++ {
		line, long, err := readLine(in)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		where := fmt.Sprintf("line %d", n)
		line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\xEF\xBB\xBF")))
		switch {
		case long:
			o.faults.add(where, "it is longer than %d bytes", maxLine)
			continue
		case len(line) == 0:
			continue
		}
		d := open(bytes.NewReader(line), "", o)
		d.text.line = int64(n)
		err = ownCase(d, where, d.end)
		if fatal(err) {
			return err
		}
		if err != nil {
			d.broken(err)
		}
	}
}

// readLine reads a line; of one that is too long it keeps nothing.
func readLine(in *bufio.Reader) (line []byte, long bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if long = long || len(line)+len(part) > maxLine; long {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err == io.EOF && (len(line) > 0 || long):
			return line, long, nil
		}
		return line, long, err
	}
}

// ownCase reads the case that comes next, after which end must hold. One that is not as documented is told
// and left out.
func ownCase(d *document, where string, end func() error) error {
	raw, lost, err := d.keep(nil)
	if err == nil {
		err = end()
	}
	if err != nil {
		return err
	}
	c, err := parseOwn(gjson.ParseBytes(raw))
	if err != nil {
		d.o.faults.add(where, "%s", err)
		return nil
	}
	if lost {
		c.Cut = append(c.Cut, "case")
	}
	return d.o.give(c)
}

// ownMembers are those of a case. Others are refused, so that a slip of the pen loses nothing silently.
var ownMembers = []string{"case", "repeat", "pass", "criteria", "input", "output", "expected", "error", "skipped",
	"place", "duration_s", "cost_usd", "usage", "model", "extra"}

func parseOwn(v gjson.Result) (c assay.Case, err error) {
	if !v.IsObject() {
		return c, errors.New("a case is a JSON object, see docs/formats/results.md")
	}
	v.ForEach(func(k, _ gjson.Result) bool {
		if !slices.Contains(ownMembers, k.String()) {
			err = fmt.Errorf("member %.40q is not known; what is yours alone goes into extra", k.String())
		}
		return err == nil
	})
	if err != nil {
		return c, err
	}
	c = assay.Case{State: assay.ItemGraded, Key: text(v.Get("case")), Input: text(v.Get("input")), Output: text(v.Get("output")),
		Expected: text(v.Get("expected")), Place: text(v.Get("place")), Model: text(v.Get("model")),
		Seconds: seconds(v.Get("duration_s"), 1), Cost: dollars(v.Get("cost_usd")), Usage: ownUsage(v.Get("usage"))}
	if repeat := v.Get("repeat"); repeat.Exists() && (repeat.Type != gjson.Number || repeat.Num < 0 || repeat.Num > 1<<20 || repeat.Num != float64(int(repeat.Num))) {
		return c, fmt.Errorf("repeat %.40s is not a whole number from 0 on", repeat.Raw)
	}
	c.Repeat = int(v.Get("repeat").Num)
	if strings.TrimSpace(c.Key) == "" {
		return c, errors.New("case is missing: it names the case, the same in every run")
	}
	if extraOf := v.Get("extra"); extraOf.IsObject() {
		members := map[string]any{}
		extraOf.ForEach(func(k, one gjson.Result) bool { members[k.String()] = raw(one); return true })
		extra(&c, members)
	} else if extraOf.Exists() && extraOf.Type != gjson.Null {
		return c, errors.New("extra is not an object")
	}
	return c, ownVerdict(v, &c)
}

// ownVerdict reads what the line says of the case: an error before all, then skipped, then a verdict.
func ownVerdict(v gjson.Result, c *assay.Case) error {
	pass, failure, skipped := v.Get("pass"), v.Get("error"), v.Get("skipped")
	switch {
	case pass.Exists() && pass.Type != gjson.Null && !pass.IsBool():
		return fmt.Errorf("pass %.40s is not true, false or null", pass.Raw)
	case failure.Exists() && failure.Type != gjson.Null && failure.String() != "":
		c.State, c.Class, c.Error = assay.ItemErrored, assay.ClassCaseError, text(failure)
		return nil
	case skipped.Type == gjson.True || skipped.Type == gjson.String:
		c.State, c.Class, c.Error = assay.ItemUngradable, assay.ClassCaseSkipped, skipped.Str
		return nil
	case skipped.Exists() && skipped.Type != gjson.False && skipped.Type != gjson.Null:
		return fmt.Errorf("skipped %.40s is not true or a reason", skipped.Raw)
	}
	c.Pass = truth(pass)
	if err := ownFindings(v.Get("criteria"), c); err != nil {
		return err
	}
	switch {
	case c.Pass == nil && len(c.Findings) == 0:
		return errors.New("it says nothing of the case: give pass, criteria, error or skipped")
	case c.Pass == nil && !said(c.Findings):
		c.State, c.Class, c.Error, c.Findings = assay.ItemUngradable, assay.ClassCaseUnscored, "its criteria have no value", nil
	}
	return nil
}

// ownFindings reads criteria: of each a value, or an object with its value and reason.
func ownFindings(given gjson.Result, c *assay.Case) (err error) {
	if given.Exists() && given.Type != gjson.Null && !given.IsObject() {
		return errors.New("criteria is not an object of criterion to value")
	}
	var names criteria
	given.ForEach(func(k, v gjson.Result) bool {
		f := assay.Finding{Criterion: names.name(k.String()), Applies: true}
		if v.IsObject() {
			f.Reason, f.Abstained = v.Get("reason").String(), v.Get("abstained").Bool()
			f.Applies = v.Get("applies").Type != gjson.False
			v = v.Get("value")
		}
		if v.IsArray() || v.IsObject() {
			err = fmt.Errorf("criterion %.60q has a value that is neither text, number nor bool", k.String())
			return false
		}
		if f.Value = scalar(v); f.Applies && f.Value == nil {
			f.Abstained = true
		}
		if !f.Applies || f.Abstained {
			f.Value = nil
		}
		c.Findings = append(c.Findings, f)
		return len(c.Findings) <= maxFindings
	})
	return err
}

func ownUsage(v gjson.Result) assay.Usage {
	if !v.Get("input").Exists() && !v.Get("output").Exists() {
		return assay.Usage{}
	}
	return assay.Usage{Known: true, Input: count(v.Get("input")), Output: count(v.Get("output")), Cached: count(v.Get("cached")),
		CacheWrite: count(v.Get("cache_write")), Reasoning: count(v.Get("reasoning"))}
}
