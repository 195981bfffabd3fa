package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"assay/internal/api"
	"assay/internal/assay"
)

// labelColumns are those of a file of labels, as CSV and as the members of JSON lines.
var labelColumns = []string{"session", "content_hash", "criterion", "criterion_version", "value", "rater", "blind", "decided", "use", "draw", "probability", "note"}

// labelRow is one row of a file.
type labelRow struct {
	line  int
	label api.NewLabel
	empty bool  // it has no value: nobody has answered yet
	fault error // why it is none
}

// readLabels reads CSV with a header, or JSON lines, and calls f for each row. What cannot be read is a row with a
// fault. It returns the columns that it does not know.
func readLabels(r io.Reader, f func(labelRow) error) (unknown []string, err error) {
	b := bufio.NewReaderSize(r, 64<<10)
	if mark, _ := b.Peek(3); string(mark) == "\uFEFF" {
		_, _ = b.Discard(3)
	}
	line := 1
	for {
		next, err := b.Peek(1)
		switch {
		case err != nil:
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return nil, err
		case next[0] == '\n':
			line++
			fallthrough
		case next[0] == '\r' || next[0] == ' ' || next[0] == '\t':
			_, _ = b.Discard(1)
		case next[0] == '{':
			return readLabelLines(b, line, f)
		default:
			return readLabelTable(b, line-1, f)
		}
	}
}

// longLabel is how long a line may be.
const longLabel = 1 << 20

// lineOfLabel is a member of api.NewLabel for each column, and a session as lists have it.
type lineOfLabel struct {
	api.NewLabel
	UserID    string `json:"user_id"`
	SessionID string `json:"session_id"`
}

// listMembers are those that lists of labels have besides, and that say nothing of a new one.
var listMembers = []string{"user_id", "session_id", "id", "current", "created_at"}

func readLabelLines(r *bufio.Reader, line int, f func(labelRow) error) (unknown []string, err error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), longLabel)
	for ; lines.Scan(); line++ {
		raw := bytes.TrimSpace(lines.Bytes())
		if len(raw) == 0 {
			continue
		}
		row := labelRow{line: line}
		var members map[string]json.RawMessage
		var l lineOfLabel
		if row.fault = json.Unmarshal(raw, &members); row.fault == nil {
			row.fault = json.Unmarshal(raw, &l)
		}
		if row.fault != nil {
			row.fault = fmt.Errorf("is not a label as JSON: %w", row.fault)
		}
		for name := range members {
			if !slices.Contains(labelColumns, name) && !slices.Contains(listMembers, name) && !slices.Contains(unknown, name) {
				unknown = append(unknown, name)
			}
		}
		row.label = l.NewLabel
		if row.label.Session == "" && l.SessionID != "" {
			row.label.Session = assay.SessionName(l.UserID, l.SessionID)
		}
		row.empty = len(row.label.Value) == 0 || string(row.label.Value) == "null"
		if err := f(row); err != nil {
			return unknown, err
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return unknown, f(labelRow{line: line, fault: errors.New("is longer than 1 MB; it and what follows was not read")})
	}
	slices.Sort(unknown)
	return unknown, lines.Err()
}

func readLabelTable(r io.Reader, before int, f func(labelRow) error) (unknown []string, err error) {
	table := csv.NewReader(r)
	table.FieldsPerRecord = -1
	header, err := table.Read()
	if err != nil {
		return nil, assay.Errorf(assay.CodeInvalid, "read the header: %w", err).WithHint("the first line names the columns: %s", strings.Join(labelColumns, ","))
	}
	place := map[string]int{}
	for i, name := range header {
		name = strings.ToLower(strings.TrimSpace(name))
		if _, twice := place[name]; twice && name != "" {
			return nil, assay.Errorf(assay.CodeInvalid, "the header names the column %s twice", name).WithHint("name each column once")
		}
		place[name] = i
		if name != "" && !slices.Contains(labelColumns, name) && !slices.Contains(listMembers, name) {
			unknown = append(unknown, name)
		}
	}
	_, named := place["session"]
	_, byID := place["session_id"]
	if _, valued := place["value"]; !valued || !named && !byID {
		return nil, assay.Errorf(assay.CodeInvalid, "the header names no column session or none value").
			WithHint("the first line names the columns: %s; all but session and value may be left out", strings.Join(labelColumns, ","))
	}
	for {
		cells, err := table.Read()
		if errors.Is(err, io.EOF) {
			return unknown, nil
		}
		row := labelRow{fault: err}
		var parse *csv.ParseError
		switch {
		case errors.As(err, &parse):
			row.line = before + parse.StartLine
			row.fault = fmt.Errorf("is not a line of CSV: %w", parse.Err)
		case err != nil:
			return unknown, err
		case len(cells) != len(header):
			row.line, _ = table.FieldPos(0)
			row.line += before
			row.fault = fmt.Errorf("has %d columns where the header has %d", len(cells), len(header))
		default:
			row.line, _ = table.FieldPos(0)
			row.line += before
			row.label, row.fault = labelOf(func(column string) string {
				if i, ok := place[column]; ok {
					return cells[i]
				}
				return ""
			})
			row.empty = len(row.label.Value) == 0
		}
		if err := f(row); err != nil {
			return unknown, err
		}
	}
}

// labelOf reads the cells of a row.
func labelOf(cell func(column string) string) (l api.NewLabel, err error) {
	trimmed := func(column string) string { return strings.TrimSpace(cell(column)) }
	l = api.NewLabel{
		Session: cell("session"), ContentHash: assay.Hash(trimmed("content_hash")), Criterion: trimmed("criterion"), CriterionVersion: trimmed("criterion_version"),
		Value: valueOf(cell("value")), Rater: cell("rater"), Use: assay.LabelUse(trimmed("use")), Note: cell("note"),
	}
	if l.Session == "" && cell("session_id") != "" {
		l.Session = assay.SessionName(cell("user_id"), cell("session_id"))
	}
	if l.Blind, err = flagOf("blind", trimmed("blind")); err != nil {
		return l, err
	}
	if l.Decided, err = flagOf("decided", trimmed("decided")); err != nil {
		return l, err
	}
	if text := trimmed("draw"); text != "" {
		if l.Draw, err = strconv.ParseInt(text, 10, 64); err != nil || l.Draw < 1 {
			return l, fmt.Errorf("draw %q is not the number of a draw", text)
		}
	}
	if text := trimmed("probability"); text != "" {
		p, err := strconv.ParseFloat(text, 64)
		if err != nil || !(p > 0 && p <= 1) {
			return l, fmt.Errorf("probability %q is not in (0, 1]", text)
		}
		l.Probability = &p
	}
	return l, nil
}

// valueOf is a cell, or an argument, as JSON: what reads as a boolean, a number or a quoted text is that, and
// everything else a text. An empty one is none.
func valueOf(text string) json.RawMessage {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		return nil
	}
	if isScalar(trimmed) {
		return json.RawMessage(trimmed)
	}
	raw, _ := json.Marshal(text) // a string always encodes
	return raw
}

// cellOf is the inverse of valueOf.
func cellOf(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return string(value)
	}
	if trimmed := strings.TrimSpace(text); trimmed == "" || isScalar(trimmed) || strings.ContainsAny(text, "\r") {
		return string(value)
	}
	return text
}

// isScalar says whether a text is the JSON of a boolean, a number or a text.
func isScalar(text string) bool {
	switch c := text[0]; {
	case c == '"', c == '-', c == 't', c == 'f', c >= '0' && c <= '9':
		return json.Valid([]byte(text))
	}
	return false
}

var flagTexts = map[string]bool{"": false, "true": true, "false": false, "yes": true, "no": false, "1": true, "0": false}

func flagOf(column, text string) (bool, error) {
	v, ok := flagTexts[strings.ToLower(text)]
	if !ok {
		return false, fmt.Errorf("%s %q is neither true nor false", column, text)
	}
	return v, nil
}

// newLabel is a stored label as a file holds it.
func newLabel(l assay.Label) api.NewLabel {
	n := api.NewLabel{
		Session: assay.SessionName(l.UserID, l.SessionID), ContentHash: l.ContentHash, Criterion: l.Criterion, CriterionVersion: l.CriterionVersion,
		Value: l.Value, Rater: l.Rater, Blind: l.Blind, Decided: l.Decided, Use: l.Use, Draw: l.Draw, Note: l.Note,
	}
	if l.Probability > 0 {
		n.Probability = &l.Probability
	}
	return n
}

// cellsOf is a label as a row of CSV.
func cellsOf(l api.NewLabel) []string {
	flag := func(v bool) string {
		if v {
			return "true"
		}
		return ""
	}
	draw, probability := "", ""
	if l.Draw != 0 {
		draw = strconv.FormatInt(l.Draw, 10)
	}
	if l.Probability != nil {
		probability = strconv.FormatFloat(*l.Probability, 'g', -1, 64)
	}
	value := ""
	if l.Value != nil {
		value = cellOf(l.Value)
	}
	return []string{l.Session, string(l.ContentHash), l.Criterion, l.CriterionVersion, value, l.Rater, flag(l.Blind), flag(l.Decided), string(l.Use), draw, probability, l.Note}
}
