package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"assay/internal/api"
	"assay/internal/assay"
)

func readAllLabels(t interface {
	Helper()
	Fatal(...any)
}, text string) (rows []labelRow, unknown []string) {
	t.Helper()
	unknown, err := readLabels(strings.NewReader(text), func(r labelRow) error { rows = append(rows, r); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return rows, unknown
}

// What is written, as CSV or as JSON lines, reads back the same.
func TestFilesOfLabelsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("ab ,\"'\n\t;=-1é<")), 1, 12, -1)
		value := rapid.SampledFrom([]string{"true", "false", "1.50", "-3", "1e9", `"true"`, `"3"`, `"kind"`, `"a \"quoted\" one"`, `"\"x\""`, `" "`, `"a,b\nc"`, `"a\r\nb"`, `"null"`})
		var labels []api.NewLabel
		for range rapid.IntRange(1, 4).Draw(t, "labels") {
			labels = append(labels, newLabel(assay.Label{
				UserID: "u/" + strings.TrimSpace(text.Draw(t, "user")), SessionID: "s" + text.Draw(t, "session"), ContentHash: "h", Criterion: "pass", CriterionVersion: rapid.SampledFrom([]string{"", "v1"}).Draw(t, "version"),
				Value: json.RawMessage(value.Draw(t, "value")), Rater: "r" + text.Draw(t, "rater"), Blind: rapid.Bool().Draw(t, "blind"), Decided: rapid.Bool().Draw(t, "decided"),
				Use: rapid.SampledFrom([]assay.LabelUse{assay.UseMeasure, assay.UseQueue, assay.UsePrompt}).Draw(t, "use"), Draw: rapid.Int64Range(0, 3).Draw(t, "draw"),
				Probability: rapid.SampledFrom([]float64{0, 1, 0.1, 1e-9}).Draw(t, "probability"), Note: rapid.SampledFrom([]string{"", "see, turn 3\n\"x\""}).Draw(t, "note"),
			}))
		}
		var table, lines bytes.Buffer
		w := csv.NewWriter(&table)
		_ = w.Write(labelColumns)
		for _, l := range labels {
			_ = w.Write(cellsOf(l))
			raw, err := json.Marshal(l)
			if err != nil {
				t.Fatal(err)
			}
			lines.Write(append(raw, '\n'))
		}
		w.Flush()
		for _, text := range []string{table.String(), "\uFEFF" + table.String(), lines.String()} {
			rows, unknown := readAllLabels(t, text)
			if len(rows) != len(labels) || len(unknown) != 0 {
				t.Fatalf("%d rows of %d, unknown %v of\n%s", len(rows), len(labels), unknown, text)
			}
			for i, row := range rows {
				if row.fault != nil || row.empty || !reflect.DeepEqual(row.label, labels[i]) {
					t.Fatalf("read %+v\nwrote %+v\nof\n%s", row, labels[i], text)
				}
			}
		}
	})
}

func TestRowsOfLabelsThatAreNone(t *testing.T) {
	const table = "session,value,draw,probability,blind,mood\n" +
		"u/a,true,,,,\n" + // 2
		"u/b,,,,,\n" + // 3: nobody answered yet
		"u/c,true,x,,,\n" + // 4
		"u/d,true,,2,,\n" + // 5
		"u/e,true,,,maybe,\n" + // 6
		"u/f,true\n" + // 7
		"u/\"g,true,,,,\n" + // 8: a bare quote
		"\"u/h\",\"two\nlines\",,,,\n" + // 9 and 10
		"u/i,pass,,,yes,\n" // 11
	rows, unknown := readAllLabels(t, table)
	want := []struct {
		line         int
		empty, fault bool
	}{{2, false, false}, {3, true, false}, {4, false, true}, {5, false, true}, {6, false, true}, {7, true, true}, {8, true, true}, {9, false, false}, {11, false, false}}
	if len(rows) != len(want) || !reflect.DeepEqual(unknown, []string{"mood"}) {
		t.Fatalf("%d rows, unknown %v", len(rows), unknown)
	}
	for i, r := range rows {
		if r.line != want[i].line || r.fault == nil && r.empty != want[i].empty || (r.fault != nil) != want[i].fault {
			t.Errorf("row %d: %+v, want %+v", i, r, want[i])
		}
	}
	lines := "\n{\"session\":\"u/a\",\"value\":true}\n{\"session\":\"u/b\"}\nnot json\n\n{\"user_id\":\"a/b\",\"session_id\":\"c\",\"value\":null,\"mood\":1}\n{\"session\":1}\n"
	rows, unknown = readAllLabels(t, lines)
	if len(rows) != 5 || rows[0].line != 2 || !rows[1].empty || rows[2].fault == nil || rows[2].line != 4 || rows[3].label.Session != "a%2Fb/c" || !rows[3].empty || rows[3].line != 6 ||
		rows[4].fault == nil || !reflect.DeepEqual(unknown, []string{"mood"}) {
		t.Errorf("rows %+v, unknown %v", rows, unknown)
	}
	for _, header := range []string{"session\n", "value,rater\n", "session,value,value\n", "\"session,value\n"} {
		if _, err := readLabels(strings.NewReader(header), func(labelRow) error { return nil }); assay.CodeOf(err) != assay.CodeInvalid {
			t.Errorf("header %q: %v", header, err)
		}
	}
}

func FuzzLabelFiles(f *testing.F) {
	f.Add("session,value\nu/a,true\n")
	f.Add("{\"session\":\"u/a\",\"value\":1}\n")
	f.Add("\uFEFF\n\nsession,value\n\"")
	f.Fuzz(func(t *testing.T, text string) {
		last := 0
		_, _ = readLabels(strings.NewReader(text), func(r labelRow) error {
			if r.line <= last {
				t.Errorf("line %d after %d", r.line, last)
			}
			last = r.line
			return nil
		})
	})
}
