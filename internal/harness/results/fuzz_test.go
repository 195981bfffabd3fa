package results

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"assay/internal/assay"
)

// seeds is a small file of each format.
func seeds() map[assay.ResultFormat]string {
	return map[assay.ResultFormat]string{
		assay.ResultPromptfoo: one(`"success":true,"failureReason":0,"gradingResult":{"pass":true,"componentResults":[{"pass":false,"score":0.5,"reason":"r","assertion":{"type":"contains","value":"v"}}]},"response":{"output":"o","tokenUsage":{"prompt":1,"completion":2}},"testCase":{"assert":[],"description":"d"}`),
		assay.ResultInspect:   log(`"status":"success","results":{"scores":[{"name":"s","metrics":{"accuracy":{"value":NaN}}}]},`, `{"id":1,"epoch":2,"input":[{"role":"user","content":[{"type":"text","text":"q"}]}],"target":["a"],"scores":{"s":{"value":1},"d":{"value":{"a":"C"}}},"limit":{"type":"time","limit":1},"model_usage":{"m":{"total_tokens":3}}}`),
		assay.ResultJUnit:     `<?xml version="1.0"?><testsuites><testsuite name="s"><testcase classname="c" name="n" time="1.5" file="f" line="3"><failure message="m">t&lt;<![CDATA[x]]></failure><system-out>&#x1B;o</system-out><properties><property name="a" value="b"/></properties></testcase><testcase name="e"><error/></testcase></testsuite></testsuites>`,
		assay.ResultAssay:     `{"case":"a","repeat":1,"pass":true,"criteria":{"tone":{"value":1,"reason":"r"}},"usage":{"input":1},"extra":{"k":1}}` + "\n" + `{"case":"b","error":"e"}`,
	}
}

// fuzz holds every reading to what is true of all, and to saying the same twice.
func fuzz(f *testing.F, format assay.ResultFormat, name string) {
	f.Add([]byte(seeds()[format]))
	f.Fuzz(func(t *testing.T, content []byte) {
		cases, err := read(t, format, name, content)
		again, err2 := read(t, format, name, content)
		if !reflect.DeepEqual(cases, again) || (err == nil) != (err2 == nil) || err != nil && err.Error() != err2.Error() {
			t.Errorf("read twice: %v and %v", err, err2)
		}
		if err != nil && (len(err.Error()) > 100_000 || !strings.HasPrefix(err.Error(), name)) {
			t.Errorf("error: %.300s", err)
		}
	})
}

func FuzzPromptfoo(f *testing.F) {
	if content, err := os.ReadFile("testdata/promptfoo-0.120.json"); err == nil {
		f.Add(content[:4000])
	}
	f.Add([]byte(`{"version":3,"results":[{"vars":{"a":1e999}}]}`))
	fuzz(f, assay.ResultPromptfoo, "r.json")
}

func FuzzInspect(f *testing.F) {
	f.Add([]byte(`{"eval":{"task":"t"},"samples":[{"id":{},"scores":{"a":{"value":NaN}}}]}`))
	fuzz(f, assay.ResultInspect, "r.json")
}

func FuzzInspectArchive(f *testing.F) {
	f.Add(archived(f, entry{name: "header.json", content: headerOK}, entry{name: "samples/1_epoch_1.json", content: passed}))
	if found, _ := filepath.Glob(filepath.Join(sharedDir, "inspect/log/test_eval_log/*.eval")); len(found) > 0 {
		for _, path := range found {
			if content, err := os.ReadFile(path); err == nil {
				f.Add(content)
			}
		}
	}
	fuzz(f, assay.ResultInspect, "r.eval")
}

func FuzzJUnit(f *testing.F) {
	if content, err := os.ReadFile("testdata/pytest.xml"); err == nil {
		f.Add(content)
	}
	f.Add([]byte(`<!DOCTYPE a [<!ENTITY b "c">]><testsuite><!-- x --><testcase name='&b;'/></testsuite>`))
	fuzz(f, assay.ResultJUnit, "r.xml")
}

func FuzzAssay(f *testing.F) {
	f.Add([]byte(`[{"case":"a","skipped":"why"}]`))
	fuzz(f, assay.ResultAssay, "r.jsonl")
}

// FuzzPlain holds what is made of JSON to meaning the same, wherever the reads are cut.
func FuzzPlain(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2.5e3,true,null,"x\"\\y\u00e4"]}`, `[NaN,-Infinity,Infinity,-1]`, "\"\x01\\u0000\\ud800\"", "\xEF\xBB\xBF{}", `[-`, `"\u12`, `IN`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		quiet := func(int64, int64, string) {}
		got, err := io.ReadAll(newPlain(bytes.NewReader(content), quiet))
		slow, err2 := io.ReadAll(newPlain(iotest.OneByteReader(bytes.NewReader(content)), quiet))
		if errors.Is(err, errNumber) && errors.Is(err2, errNumber) {
			return
		}
		if err != nil || err2 != nil || !bytes.HasPrefix(content, []byte("\xEF")) && !bytes.Equal(got, slow) {
			t.Fatalf("%q and %q: %v, %v", got, slow, err, err2)
		}
		if !json.Valid(content) {
			return
		}
		var a, b any
		if json.Unmarshal(content, &a) != nil || json.Unmarshal(got, &b) != nil {
			t.Fatalf("%q became %q", content, got)
		}
		if !bytes.Contains(content, []byte(`\u0000`)) && !reflect.DeepEqual(a, b) {
			t.Errorf("%q became %q", content, got)
		}
	})
}

// FuzzMarkup holds what is made of XML to being the same wherever the reads are cut.
func FuzzMarkup(f *testing.F) {
	for _, s := range []string{`<a b="c&amp;d">x<![CDATA[y]]]]>z</a>`, `<!-- - -- --><!DOCTYPE a [<!ENTITY b "]>">]><?pi x?>`, "&#x1b;&#27;&#9;&#xD800;ä\xe4"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		got, err := io.ReadAll(newMarkup(bytes.NewReader(content)))
		slow, err2 := io.ReadAll(newMarkup(iotest.OneByteReader(bytes.NewReader(content))))
		if (err == nil) != (err2 == nil) || !bytes.Equal(got, slow) {
			t.Fatalf("%q and %q: %v, %v", got, slow, err, err2)
		}
		for d := xml.NewDecoder(bytes.NewReader(got)); ; {
			token, err := d.RawToken()
			if err != nil {
				return
			}
			switch token.(type) {
			case xml.Directive, xml.Comment:
				t.Fatalf("%q holds %#v", got, token)
			}
		}
	})
}
