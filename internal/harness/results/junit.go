package results

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"assay/internal/logs"
)

// maxNesting bounds elements inside elements: suites in suites, and what is in a case.
const maxNesting = 200

// junit reads JUnit XML as pytest writes it, and what others write that is like it.
type junit struct {
	o      *out
	xml    *xml.Decoder
	text   *markup
	depth  int
	suites []suite
	tests  []*test
	heard  *strings.Builder // where character data goes; nil: nowhere
	any    bool             // an element was seen
}

type suite struct {
	name  string
	depth int
}

func readJUnit(r io.ReaderAt, size int64, o *out) error {
	src, err := decoded(io.NewSectionReader(r, 0, size))
	if err != nil {
		return err
	}
	j := &junit{o: o, text: newMarkup(src)}
	j.xml = xml.NewDecoder(j.text)
	j.xml.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil } // decoded already
	for {
		token, err := j.xml.Token()
		switch {
		case err == io.EOF && !j.any:
			o.faults.add("", "it is empty")
			return nil
		case err == io.EOF:
			return nil
		case err != nil:
			j.broken(err)
			return nil
		}
		if err := j.take(token); err != nil {
			return err
		}
	}
}

func (j *junit) take(token xml.Token) error {
	switch t := token.(type) {
	case xml.StartElement:
		if j.depth++; j.depth > maxNesting {
			return fmt.Errorf("line %d: elements lie deeper in each other than %d", j.text.line, maxNesting)
		}
		if root := t.Name.Local; !j.any && root != "testsuites" && root != "testsuite" && root != "testcase" {
			return fmt.Errorf("its first element is <%.40s>: it is not JUnit XML", root)
		}
		j.any = true
		j.start(t.Name.Local, j.attributes(t.Attr))
	case xml.CharData:
		if j.heard != nil {
			room := maxMarkupText - j.heard.Len()
			j.heard.Write(t[:max(0, min(room, len(t)))])
		}
	case xml.EndElement:
		j.depth--
		return j.end()
	}
	return nil
}

func (j *junit) attributes(list []xml.Attr) map[string]string {
	m := make(map[string]string, len(list))
	for _, a := range list {
		m[a.Name.Local] = masks(j.o.mask, a.Value, maxAttribute)
	}
	return m
}

// masks takes secrets out of a text of which most bytes at most were kept. One that is long may have lost
// its end, and a secret there its second half.
func masks(mask *logs.Masker, text string, most int) string {
	if len(text) > most/2 { //X
		return mask.Head(text)
	}
	return mask.Text(text)
}

// start takes an element's begin. What stands in a case is its own; an error of a suite is a case of it.
func (j *junit) start(name string, attr map[string]string) {
	switch name {
	case "testsuite":
		j.suites = append(j.suites, suite{attr["name"], j.depth})
		return
	case "testcase":
		j.tests = append(j.tests, &test{attr: attr, suites: j.within(), depth: j.depth})
		return
	}
	if len(j.tests) == 0 {
		if (name == "error" || name == "failure") && len(j.suites) > 0 {
			j.tests = append(j.tests, &test{attr: map[string]string{"name": "(suite)"}, suites: j.within(), depth: j.depth})
		} else {
			return
		}
	}
	j.heard = j.tests[len(j.tests)-1].start(name, attr)
}

func (j *junit) end() error {
	j.heard = nil
	if n := len(j.suites); n > 0 && j.suites[n-1].depth == j.depth+1 {
		j.suites = j.suites[:n-1]
	}
	if n := len(j.tests); n > 0 && j.tests[n-1].depth == j.depth+1 {
		done := j.tests[n-1]
		j.tests = j.tests[:n-1]
		return j.o.give(done.read(j.o.mask))
	}
	return nil
}

func (j *junit) within() string {
	var names []string
	for _, s := range j.suites {
		if s.name != "" {
			names = append(names, s.name)
		}
	}
	return strings.Join(names, " / ")
}

// broken tells an error of the XML with its place.
func (j *junit) broken(err error) {
	line, reason := j.text.line, err.Error()
	var syntax *xml.SyntaxError
	if errors.As(err, &syntax) {
		reason = "it is not XML: " + syntax.Msg
		if syntax.Msg == "unexpected EOF" {
			reason = "it ends too early: was the harness killed while it wrote?"
		} else {
			line = int64(syntax.Line) + j.text.lost
		}
	}
	where := fmt.Sprintf("line %d", line)
	if n := len(j.tests); n > 0 {
		where += ", in test case " + oneLine(j.tests[n-1].name())
	}
	j.o.faults.add(where, "%s", reason)
}

// version finds the second digit of a later version of XML.
var version = regexp.MustCompile(`^<\?xml\s+version=["']1\.([1-9])["']`)

// declared finds the encoding that a document declares.
var declared = regexp.MustCompile(`^<\?xml[^>]*encoding=["']([A-Za-z0-9._-]+)["']`)

// decoded makes UTF-8 of what other encoding a document declares; few write any.
func decoded(in io.Reader) (io.Reader, error) {
	head := make([]byte, 256)
	n, _ := io.ReadFull(in, head)
	head = bytes.TrimPrefix(head[:n], []byte("\xEF\xBB\xBF"))
	if at := version.FindSubmatchIndex(head); at != nil { // 1.1 differs in what nobody writes, and the reader refuses it
		head[at[2]] = '0'
	}
	whole := io.MultiReader(bytes.NewReader(head), in)
	m := declared.FindSubmatch(head)
	if m == nil {
		return whole, nil
	}
	switch name := strings.ToLower(string(m[1])); name {
	case "utf-8", "utf8", "us-ascii", "ascii", "utf-16": // in UTF-16 it could not be read: .NET says so of what it has in memory
		return whole, nil
	case "iso-8859-1", "latin1", "latin-1", "windows-1252", "cp1252":
		return &latin{in: whole}, nil
	default:
		return nil, fmt.Errorf("it is written in %.40s; write it in UTF-8", name)
	}
}

// windows are the characters from 0x80 to 0x9F of Windows-1252, which is written where ISO 8859-1 is declared too.
var windows = []rune("€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ")

// latin reads ISO 8859-1 and Windows-1252.
type latin struct{ in io.Reader }

func (l *latin) Read(p []byte) (int, error) {
	if len(p) < 3 {
		return 0, io.ErrShortBuffer
	}
	buf := make([]byte, min(len(p)/3, 4<<10)) // each byte becomes three at most
	n, err := l.in.Read(buf)
	made := p[:0]
	for _, c := range buf[:n] {
		r := rune(c)
		if c >= 0x80 && c < 0xA0 {
			r = windows[c-0x80]
		}
		made = utf8.AppendRune(made, r)
	}
	return len(made), err
}
