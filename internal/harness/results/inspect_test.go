package results

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"assay/internal/assay"
)

// rawSample is as much of a sample as the tests count.
type rawSample struct {
	ID     any
	Epoch  int
	Scores map[string]struct {
		Value       any
		Explanation string
	}
	Error      *struct{ Message string }
	ModelUsage map[string]struct {
		Total  int64 `json:"total_tokens"`
		Output int64 `json:"output_tokens"`
	} `json:"model_usage"`
	TotalTime *float64 `json:"total_time"`
}

// rawSamples reads the samples of a log by the standard library alone; ours says whether it is a log.
func rawSamples(t *testing.T, content []byte) (samples []rawSample, ours bool) {
	t.Helper()
	if z, err := zip.NewReader(bytes.NewReader(content), int64(len(content))); err == nil {
		for _, f := range z.File {
			if !strings.HasPrefix(f.Name, "samples/") {
				continue
			}
			in, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			var s rawSample
			if err := json.NewDecoder(in).Decode(&s); err != nil {
				t.Fatal(err)
			}
			samples = append(samples, s)
		}
		return samples, true
	}
	var log struct {
		Eval    *struct{ Task string }
		Samples []rawSample
	}
	err := json.Unmarshal(bytes.ReplaceAll(content, []byte("NaN"), []byte("null")), &log)
	return log.Samples, err == nil && log.Eval != nil
}

// TestInspectSharedLogs reads every log of the public data and compares it with what the standard library
// reads: no sample, score, token or reason is lost.
func TestInspectSharedLogs(t *testing.T) {
	shared(t, "inspect/README.md")
	logs, samples, scored := 0, 0, 0
	err := filepath.WalkDir(filepath.Join(sharedDir, "inspect"), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == "README.md" {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		want, ours := rawSamples(t, content)
		cases, err := read(t, assay.ResultInspect, path, content)
		if !ours {
			faulty(t, err, path)
		} else {
			logs++
		}
		if len(cases) != len(want) {
			t.Errorf("%s: %d cases, want %d: %v", path, len(cases), len(want), err)
		}
		for _, w := range want {
			samples++
			scored += sameSample(t, path, cases, w)
		}
		return nil
	})
	if err != nil || logs != 25 || samples != 41 || scored != 30 {
		t.Errorf("%d logs, %d samples, %d of them with a score: %v", logs, samples, scored, err)
	}
}

func sameSample(t *testing.T, path string, cases []assay.Case, w rawSample) (scored int) {
	t.Helper()
	for _, c := range cases {
		if !strings.HasSuffix(c.Key, fmt.Sprintf("/%v", w.ID)) || c.Repeat != w.Epoch-1 {
			continue
		}
		var tokens int64
		for _, u := range w.ModelUsage {
			tokens += u.Total
		}
		equal(t, path+" tokens", c.Usage.Input+c.Usage.Output, tokens)
		if w.TotalTime != nil {
			equal(t, path+" time", *c.Seconds, *w.TotalTime)
		}
		equal(t, path+" findings", len(c.Findings), len(w.Scores))
		for _, f := range c.Findings {
			want := w.Scores[f.Criterion]
			equal(t, path+" value", string(f.Value), fmt.Sprintf("%q", want.Value))
			equal(t, path+" reason", f.Reason, want.Explanation)
			equal(t, path+" pass", *c.Pass, want.Value == "C")
			scored = 1
		}
		return scored
	}
	t.Errorf("%s: no case for sample %v epoch %d", path, w.ID, w.Epoch)
	return 0
}

// log makes a log of samples.
func log(header, samples string) string {
	return `{"version":2,"eval":{"task":"t","model":"m"},` + header + `"samples":[` + samples + `]}`
}

func TestInspectScores(t *testing.T) {
	for _, c := range []struct {
		score  string // of scorer s
		pass   string
		values map[string]string
	}{
		{`{"value":"C","explanation":"why"}`, "true", map[string]string{"s": `"C"`}},
		{`{"value":"I"}`, "false", map[string]string{"s": `"I"`}},
		{`{"value":"P"}`, "", map[string]string{"s": `"P"`}},
		{`{"value":"N"}`, "false", map[string]string{"s": `"N"`}},
		{`{"value":"Yes"}`, "true", map[string]string{"s": `"Yes"`}},
		{`{"value":true}`, "true", map[string]string{"s": `true`}},
		{`{"value":0}`, "", map[string]string{"s": `0`}},
		{`{"value":1}`, "", map[string]string{"s": `1`}},
		{`{"value":0.25}`, "", map[string]string{"s": `0.25`}},
		{`{"value":{"a":"C","b":"I"}}`, "false", map[string]string{"s.a": `"C"`, "s.b": `"I"`}},
		{`{"value":{"a":"C","b":3}}`, "", map[string]string{"s.a": `"C"`, "s.b": `3`}},
		{`{"value":[1,2]}`, "", map[string]string{"s.0": `1`, "s.1": `2`}},
		{`{"value":{"a":{"deep":1}}}`, "", map[string]string{"s.a": `"{\"deep\":1}"`}},
	} {
		got := clear(t, assay.ResultInspect, "l.json", log("", `{"id":1,"epoch":1,"scores":{"s":`+c.score+`}}`))[0]
		equal(t, c.score, values(got), c.values)
		pass := ""
		if got.Pass != nil {
			pass = fmt.Sprint(*got.Pass)
		}
		equal(t, c.score+" pass", pass, c.pass)
	}
	two := clear(t, assay.ResultInspect, "l.json", log("", `{"id":1,"scores":{"a":{"value":"C"},"b":{"value":null}}}`))[0]
	if two.Pass != nil || !two.Findings[1].Abstained {
		t.Errorf("a scorer without a value: %+v", two)
	}
}

func TestInspectNumbersPassWhereAccuracyCountsThem(t *testing.T) {
	for _, header := range []string{
		`"results":{"scores":[{"name":"s","scorer":"s","metrics":{"accuracy":{"value":0.5}}}]},`,
		`"results":{"scorer":{"name":"s"},"metrics":{"accuracy":{"value":0.5}}},`,
		`"eval":{"task":"t","scorers":[{"name":"s","metrics":[{"name":"inspect_ai/accuracy"}]}]},`,
	} {
		cases := clear(t, assay.ResultInspect, "l.json", log(header, `{"id":1,"scores":{"s":{"value":1}}},{"id":2,"scores":{"s":{"value":0.0}}},{"id":3,"scores":{"s":{"value":0.5}}}`))
		equal(t, header, tally(cases), assay.CaseTally{Total: 3, Passed: 1, Failed: 1})
	}
	// The samples stand before what says how they are read.
	late := clear(t, assay.ResultInspect, "l.json", `{"samples":[{"id":1,"scores":{"s":{"value":1}}}],"eval":{"task":"t","scorers":[{"name":"s","metrics":[{"name":"accuracy"}]}]}}`)
	equal(t, "late header", late[0].Key+fmt.Sprint(*late[0].Pass), "t/1true")
}

func TestInspectSamples(t *testing.T) {
	cases := clear(t, assay.ResultInspect, "l.json", log("", strings.Join([]string{
		`{"id":"a b","epoch":1,"input":"Q?","choices":["x","y"],"target":["r","s"],"scores":{"s":{"value":"C","answer":"ans"}},"total_time":1.5,
			"output":{"model":"served","choices":[{"message":{"content":[{"type":"text","text":"A!"},{"type":"image","image":"data:xxx"}]},"stop_reason":"stop"}]},
			"model_usage":{"m":{"input_tokens":10,"output_tokens":3,"total_tokens":20,"input_tokens_cache_read":7,"reasoning_tokens":1,"total_cost":0.5},"grader":{"input_tokens":4,"output_tokens":1,"total_tokens":5,"total_cost":0.25}}}`,
		`{"id":"a b","epoch":2,"input":[{"role":"system","content":"S"},{"role":"user","content":"U"}],"scores":{"s":{"value":"I"}}}`,
		`{"id":"a b","epoch":2,"scores":{"s":{"value":"I"}}}`,
		`{"id":2,"epoch":1,"error":{"message":"boom","traceback":"trace"},"scores":{"s":{"value":"C"}}}`,
		`{"id":3,"epoch":1,"limit":{"type":"message","limit":30},"scores":{}}`,
		`{"id":4,"epoch":1,"limit":{"type":"time","limit":9},"scores":{"s":{"value":"I"}}}`,
		`{"id":5,"epoch":1,"score":{"value":"C"}}`,
	}, ",")))
	first := cases[0]
	equal(t, "first", []any{first.Key, first.Repeat, first.Input, first.Output, first.Expected, first.Model, *first.Seconds, *first.Cost, first.Usage}, []any{
		"t/a b", 0, "Q?\n\nA) x\nB) y", "A!\n[image]", "r\ns", "served", 1.5, 75 * assay.Dollar / 100,
		assay.Usage{Known: true, Input: 21, Cached: 7, Output: 4, Reasoning: 1}})
	equal(t, "messages", cases[1].Input, "system: S\n\nuser: U")
	equal(t, "epochs, and one that is there twice", []int{cases[1].Repeat, cases[2].Repeat}, []int{1, 2})
	equal(t, "error", []any{cases[3].State, cases[3].Class, cases[3].Error}, []any{assay.ItemErrored, assay.ClassCaseError, "boom"})
	if !bytes.Contains(cases[3].Extra, []byte(`"traceback":"trace"`)) || !bytes.Contains(cases[3].Extra, []byte(`"C"`)) {
		t.Errorf("what broke lost its trace or its score: %s", cases[3].Extra)
	}
	equal(t, "limit", []any{cases[4].State, cases[4].Class, cases[4].Error}, []any{assay.ItemUngradable, assay.ClassCaseUnscored, "it was ended at its message limit of 30 and has no score"})
	equal(t, "scored at its limit", *cases[5].Pass, false)
	equal(t, "oldest form", *cases[6].Pass, true)
}

func TestInspectLogsThatBrokeOff(t *testing.T) {
	sample := `{"id":1,"epoch":1,"scores":{"s":{"value":"C"}}}`
	for _, c := range []struct {
		name, content string
		cases         int
		whole         bool
		words         []string
	}{
		{"error", log(`"status":"error","error":{"message":"quota is used up","traceback":"x"},`, sample), 1, false, []string{"broke off", "quota is used up"}},
		{"cancelled", log(`"status":"cancelled",`, sample), 1, false, []string{"cancelled"}},
		{"started", log(`"status":"started",`, sample), 1, false, []string{"did not end"}},
		{"samples are missing", log(`"status":"success","results":{"completed_samples":3},`, sample), 1, false, []string{"3 completed", "1 could be read"}},
		{"no samples", `{"eval":{"task":"t"},"status":"success"}`, 0, false, []string{"no samples"}},
		{"NaN score", log("", `{"id":1,"scores":{"s":{"value":NaN}}},`+"\n"+sample), 2, true, []string{"line 1", "NaN"}},
		{"NaN metric", log(`"results":{"metrics":{"accuracy":{"value":-Infinity}}},`, sample), 1, true, []string{"-Infinity"}},
		{"cut off", strings.TrimSuffix(log("", sample+`,{"id":2,"scores":{"s":{"value":"C"`), "]}"), 1, false, []string{"ends too early", "/samples/1/scores/s"}},
		{"no id", log("", `{"epoch":1},`+sample), 1, false, []string{"/samples/0", "no id"}},
		{"no log", `{"samples":[]}`, 0, false, []string{"not an Inspect log"}},
		{"no JSON", `hello`, 0, false, []string{"not JSON"}},
		{"no object", `[]`, 0, false, []string{"not an Inspect log"}},
	} {
		cases, err := read(t, assay.ResultInspect, "l.json", []byte(c.content))
		faulty(t, err, c.words...)
		if len(cases) != c.cases || Whole(err) != c.whole {
			t.Errorf("%s: %d cases, whole %v: %v", c.name, len(cases), Whole(err), err)
		}
	}
	nan, _ := read(t, assay.ResultInspect, "l.json", []byte(log("", `{"id":1,"scores":{"s":{"value":NaN}}}`)))
	equal(t, "a score of NaN is no verdict", nan[0].Class, assay.ClassCaseUnscored)
}

// entry is one of an archive.
type entry struct {
	name, content string
	method        uint16 // 0: deflate
	plain         bool   // not compressed
}

func archived(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	w.RegisterCompressor(93, func(out io.Writer) (io.WriteCloser, error) { return zstd.NewWriter(out) })
	for _, e := range entries {
		if e.method == 0 {
			e.method = zip.Deflate
		}
		if e.plain {
			e.method = zip.Store
		}
		f, err := w.CreateHeader(&zip.FileHeader{Name: e.name, Method: e.method})
		if err == nil {
			_, err = io.WriteString(f, e.content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

const (
	headerOK = `{"version":2,"status":"success","eval":{"task":"t"}}`
	passed   = `{"id":%d,"epoch":1,"scores":{"s":{"value":"C"}}}`
)

func TestInspectArchives(t *testing.T) {
	header := entry{name: "header.json", content: headerOK}
	numbered := func(n int) entry {
		return entry{name: fmt.Sprintf("samples/%d_epoch_1.json", n), content: fmt.Sprintf(passed, n)}
	}
	zst := numbered(3)
	zst.method = 93
	for _, c := range []struct {
		name    string
		content []byte
		keys    []string
		words   []string // of the error; nil: none
	}{
		{"order of numbers", archived(t, numbered(10), numbered(2), zst, header), []string{"t/2", "t/3", "t/10"}, nil},
		{"an entry that was mended", archived(t, entry{name: "samples/1_epoch_1.json", content: "{"}, numbered(1), header), []string{"t/1"}, nil},
		{"a broken sample", archived(t, numbered(1), entry{name: "samples/2_epoch_1.json", content: `{"id":2,"scores":{`}, numbered(3), header),
			[]string{"t/1", "t/3"}, []string{"samples/2_epoch_1.json", "ends too early"}},
		{"NaN in a sample", archived(t, entry{name: "samples/1_epoch_1.json", content: "{\n\"id\":1,\"scores\":{\"s\":{\"value\":NaN}}}"}, header), []string{"t/1"},
			[]string{"samples/1_epoch_1.json, line 2, column", "NaN"}},
		{"not ended", archived(t, entry{name: "_journal/start.json", content: `{"version":2,"eval":{"task":"t"},"plan":{}}`}, numbered(1)), []string{"t/1"}, []string{"did not end"}},
		{"broken header", archived(t, entry{name: "header.json", content: `{"version":`}, entry{name: "_journal/start.json", content: `{"eval":{"task":"t"}}`}, numbered(1)),
			[]string{"t/1"}, []string{"header.json", "ends too early"}},
		{"error in the header", archived(t, entry{name: "header.json", content: `{"status":"error","error":{"message":"no model"},"eval":{"task":"t"}}`}, numbered(1)),
			[]string{"t/1"}, []string{"no model"}},
		{"no header", archived(t, numbered(1)), []string{"/1"}, []string{"not an Inspect log"}},
		{"no samples", archived(t, header), nil, []string{"no samples"}},
		{"cut off", archived(t, numbered(1), header)[:150], nil, []string{"no whole archive", "killed"}},
	} {
		cases, err := read(t, assay.ResultInspect, "l.eval", c.content)
		equal(t, c.name, keys(cases), c.keys)
		if c.words == nil && err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if c.words != nil {
			faulty(t, err, c.words...)
		}
	}
	flipped := archived(t, entry{name: "samples/1_epoch_1.json", content: fmt.Sprintf(passed, 1), plain: true}, header)
	flipped[bytes.IndexByte(flipped, 'C')] = 'I'
	_, err := read(t, assay.ResultInspect, "l.eval", flipped)
	faulty(t, err, "samples/1_epoch_1.json", "checksum")
	if Whole(err) {
		t.Error("a log whose bytes were changed counts as whole")
	}
}

// TestArchiveBomb unpacks to far more than it is: the reading ends, says so, and keeps what came before.
func TestArchiveBomb(t *testing.T) {
	bomb := `{"id":2,"metadata":"` + strings.Repeat("a", 160<<20) + `"}`
	content := archived(t, entry{name: "header.json", content: headerOK}, entry{name: "samples/1_epoch_1.json", content: fmt.Sprintf(passed, 1)},
		entry{name: "samples/2_epoch_1.json", content: bomb}, entry{name: "samples/3_epoch_1.json", content: fmt.Sprintf(passed, 3)})
	cases, err := read(t, assay.ResultInspect, "l.eval", content)
	faulty(t, err, "samples/2_epoch_1.json", "unpacks to far more")
	equal(t, "cases", keys(cases), []string{"t/1"})
}
