package session_test

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"assay/internal/assay"
	"assay/internal/session"
	"assay/internal/session/native"
	"assay/internal/session/piece"
)

func TestDetect(t *testing.T) {
	nativeLine := `{"format":"assay.session/1","user_id":"u","session_id":"s","turns":[]}`
	for text, want := range map[string]string{
		nativeLine: session.Native,
		`{"user_id":"u","format":"assay.session/9"}`:                session.Native,
		`{"user_id":"u","turns":[]}`:                                session.Native,
		"\xEF\xBB\xBF" + nativeLine:                                 session.Native,
		"\n\n not json\n{\"a\n" + nativeLine:                        session.Native,
		`{"messages":[{"role":"user","content":"x"}]}`:              session.OpenAI,
		`{"tools":"x","messages":[{"role":"user","content":"x`:      session.OpenAI,
		`[ {"messages":[]}]`:                                        session.OpenAI,
		"{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\"}]}": session.OpenAI,
		`{"id":NaN,"messages":[]}`:                                  session.OpenAI,
		`[{"task_id": 0, "reward": 0.0, "info": {"task`:             session.TauBench,
		`{"traj":[]}`:               session.TauBench,
		`{"resourceSpans":[]}`:      session.OTLP,
		"{\n  \"resourceSpans\": [": session.OTLP,
		`{"a":1}`:                   "",
		"":                          "",
		"  \n":                      "",
		"[]":                        "",
		"[1,2]":                     "",
		"text":                      "",
	} {
		r, format, err := session.Open(strings.NewReader(text), session.Options{})
		if format != want || (err == nil) != (want != "") || (err != nil && assay.CodeOf(err) != assay.CodeInvalid) {
			t.Errorf("%q: got %q, %v; want %q", text, format, err, want)
		}
		if err == nil {
			r.Close()
		}
	}
}

func TestOTLPDocument(t *testing.T) {
	span := func(trace, text string) string {
		return fmt.Sprintf(`{"resource":{}, "scopeSpans":[{"spans":[{"traceId":%q,"spanId":"1","attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},{"key":"gen_ai.prompt","value":{"stringValue":%q}}]}]}]}`, trace, text)
	}
	long := strings.Repeat("x", 300<<10)
	for name, text := range map[string]string{
		"lines":     `{"resourceSpans":[` + span("a", "q") + "]}\n" + `{"resourceSpans":[` + span("b", "q") + "]}",
		"laid out":  "{\n\"resourceSpans\":[\n" + span("a", "q") + ",\n" + span("b", "q") + "\n]\n}\n",
		"long line": `{"resourceSpans":[` + span("a", long) + "," + span("b", "q") + "]}",
		"array":     `[{"resourceSpans":[` + span("a", "q") + `]},{"resourceSpans":[` + span("b", "q") + "]}]",
	} {
		records, format := readAll(t, strings.NewReader(text), session.Options{Spool: t.TempDir()})
		if format != session.OTLP || len(records) != 2 || faults(records) != nil {
			t.Errorf("%s: %s, %d records, %v", name, format, len(records), faults(records))
		}
	}
}

func TestRealChatFiles(t *testing.T) {
	for name, want := range map[string]struct{ good, bad int }{
		"sharegpt-openai-chat/reason_tool_use_demo_50.jsonl": {50, 0},
		"sharegpt-openai-chat/v1_sft_demo.jsonl":             {500, 0},
		"sharegpt-openai-chat/v1_multimodal_demo.jsonl":      {24, 0},
		"sharegpt-openai-chat/kto_en_demo.json":              {300, 0},
		"sharegpt-openai-chat/mllm_demo.json":                {6, 0},
	} {
		records, format := readAll(t, shared(t, name), session.Options{})
		good := 0
		for _, r := range records {
			if r.Fault == nil {
				good++
				if r.Session.Empty() {
					t.Errorf("%s: session %s is empty", name, r.Session.SessionID)
				}
			}
		}
		if format != session.OpenAI || good != want.good || len(records)-good != want.bad {
			t.Errorf("%s: %s, %d good, %d bad: %.300q", name, format, good, len(records)-good, faults(records))
		}
	}
}

// Every file there is, in every format, ends without a panic; and what was read is the same when it
// is written natively and read again.
func TestNoRealFileStopsAReader(t *testing.T) {
	shared(t, "README.md")
	files, sessions := 0, 0
	err := filepath.WalkDir("../../../shared/data", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasPrefix(filepath.Ext(path), ".json") {
			return err
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		for _, format := range append(session.Formats(), "") {
			r, _, err := session.Open(bytes.NewReader(raw), session.Options{Format: format, Spool: t.TempDir()})
			if err != nil {
				continue
			}
			for {
				task, err := r.Next()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Errorf("%s as %s: %v", path, format, err)
					break
				}
				if rec := task.Read(); rec.Fault == nil {
					sessions++
					same(t, rec)
				}
			}
			r.Close()
		}
		return nil
	})
	if err != nil || files < 50 || sessions < 1000 {
		t.Errorf("%d files, %d sessions, %v", files, sessions, err)
	}
}

// same writes a record natively and reads it again.
func same(t testing.TB, r piece.Record) {
	t.Helper()
	line, err := native.Append(nil, r.Session, r.Labels)
	if err != nil {
		t.Fatalf("%+v: %v", r.Session, err)
	}
	again := piece.Piece{Line: 1, Raw: line}.Read(native.Parse)
	if again.Fault != nil {
		t.Fatalf("%s: %v", line, again.Fault)
	}
	if !reflect.DeepEqual(again.Session, r.Session) || !reflect.DeepEqual(again.Labels, r.Labels) {
		t.Fatalf("read    %+v %+v\nagain   %+v %+v\nwritten %s", r.Session, r.Labels, again.Session, again.Labels, line)
	}
}

func TestALineOf50MB(t *testing.T) {
	long := `{"id":"long","user":"u","messages":[{"role":"user","content":"` + strings.Repeat(`x\n`, 25<<20) + `"}]}`
	text := `{"id":"a","user":"u","messages":[{"role":"user","content":"x"}]}` + "\n" + long + "\n" + `{"id":"b","user":"u","messages":[{"role":"user","content":"x"}]}`
	records, _ := readAll(t, strings.NewReader(text), session.Options{})
	if len(records) != 3 || faults(records) != nil || len(records[1].Session.Turns[0].Messages[0].Content) != 50<<20 {
		t.Fatalf("%d records, %.200q", len(records), faults(records))
	}
	records, _ = readAll(t, strings.NewReader(text), session.Options{MaxBytes: 1 << 20})
	if len(records) != 3 || len(faults(records)) != 1 || records[1].Line != 2 || !strings.Contains(records[1].Fault.Reason, "bound of 1 MB") {
		t.Fatalf("%d records, %.200q", len(records), faults(records))
	}
	runtime.GC()
}

func FuzzFormats(f *testing.F) {
	for _, s := range []string{
		`{"format":"assay.session/1","user_id":"u","session_id":"s","turns":[{"started_at":"2025-03-01T12:00:00Z","metadata":{"arm":"a","x":{"b":[1 , NaN]}},"messages":[{"role":"user","content":"a\u0000b\ud800","parts":[{"kind":"image"}]}]}],"labels":[{"criterion":"pass","value":true}]}`,
		`{"id":"s","user":"u","metadata":{"a": 1},"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"tool_result","tool_use_id":"1","content":"r"}]},{"role":"assistant","content":null,"tool_calls":[{"id":"1","function":{"name":"f","arguments":{"a":1}}}],"timestamp":1740830400.5}]}`,
		`[{"task_id":1,"trial":0,"reward":1.0,"traj":[{"role":"user","content":"x"},{"content":null,"role":"assistant"}],"info":{"task":{"user_id":"u"},"cost":NaN}},{"task_id":"a"}]`,
		`{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"x"}}]},"scopeSpans":[{"spans":[{"traceId":"t","spanId":"s","startTimeUnixNano":"1740830400000000000","endTimeUnixNano":1740830401000000000,"attributes":[{"key":"gen_ai.operation.name","value":{"stringValue":"chat"}},{"key":"gen_ai.input.messages","value":{"stringValue":"[{\"role\":\"user\",\"parts\":[{\"type\":\"text\",\"content\":\"q\"}]}]"}},{"key":"gen_ai.completion.0.content","value":{"arrayValue":{"values":[{"intValue":"3"},{"kvlistValue":{"values":[{"key":"k","value":{"doubleValue":1.5}}]}}]}}}]}]}]}]}`,
		"\n\n\xff\x00{\"messages\":[{\"role\":\"user\",\"content\":\"\xff\x00\"}]}\nnot json\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, format := range append(session.Formats(), "") {
			r, _, err := session.Open(bytes.NewReader(raw), session.Options{Format: format, Spool: os.TempDir()})
			if err != nil {
				if format != "" || assay.CodeOf(err) != assay.CodeInvalid {
					t.Fatal(err)
				}
				continue
			}
			for {
				task, err := r.Next()
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				rec := task.Read()
				switch {
				case (rec.Fault == nil) == (rec.Session == nil):
					t.Fatalf("neither session nor fault, or both: %+v", rec)
				case rec.Line < 1:
					t.Fatalf("no line: %+v", rec)
				case rec.Fault == nil:
					same(t, rec)
				}
			}
			r.Close()
		}
	})
}

// JSON that was made pretty is refused once, with what to do, and not once a line.
func TestSessionOverManyLinesIsRefusedOnce(t *testing.T) {
	const pretty = "{\n  \"messages\": [\n    {\"role\": \"user\", \"content\": \"hi\"},\n    {\n \"role\": \"assistant\", \"content\": \"yes\"}\n  ]\n}\n"
	if _, _, err := session.Open(strings.NewReader(pretty), session.Options{}); assay.CodeOf(err) != assay.CodeInvalid {
		t.Errorf("%v", err)
	}
	const broken = "{\"messages\": [{\"role\": \"user\", \"cont\n{\"messages\": [{\"role\": \"user\", \"content\": \"hi\"}]}\n"
	if _, format, err := session.Open(strings.NewReader(broken), session.Options{}); err != nil || format != session.OpenAI {
		t.Errorf("one broken line before a good one: %q %v", format, err)
	}
}
