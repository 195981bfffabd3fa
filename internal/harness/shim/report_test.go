//go:build linux

package shim

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"assay/internal/assay"
	"assay/internal/durable"
	"assay/internal/harness/report"
)

func TestReportsAreHeardByDescriptorAndByPath(t *testing.T) {
	t.Parallel()
	a := newLaunch(t, "reporter")
	a.launch()
	e := a.exit(5 * time.Second)
	events := a.events()
	for what, is := range map[string]func(report.Event) bool{
		"the first progress": func(e report.Event) bool {
			return e.Progress != nil && e.Progress.Done == 1 && e.Progress.Text == "begun"
		},
		"a metric behind bad lines": func(e report.Event) bool { return e.Metric != nil && e.Metric.Name == "loss" && e.Metric.Value == 0.5 },
		"a link by path": func(e report.Event) bool {
			return e.Link != nil && e.Link.URL == "https://example.org/1" && e.Link.Text == "first"
		},
		"a last progress without end": func(e report.Event) bool { return e.Progress != nil && e.Progress.Done == 4 && !e.Progress.Guessed },
	} {
		if !has(events, is) {
			t.Errorf("not heard: %s", what)
		}
	}
	if len(events) != 4 || e.Events != 4 {
		t.Errorf("%d events in the file, %d counted", len(events), e.Events)
	}
	text := a.output()
	for _, want := range []string{`report channel: "what" is not known`, `progress "many" is not`, "longer than 4096 bytes"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not complained about: %s", want, text)
		}
	}
	if _, err := os.Lstat(filepath.Join(a.dir, reportFile)); err == nil {
		t.Error("who opens the channel now waits for ever")
	}
}

func TestOutputThatImitatesReportsChangesNothing(t *testing.T) {
	t.Parallel()
	a := newLaunch(t, "imitator")
	a.launch()
	a.exit(5 * time.Second)
	for _, e := range a.events() {
		if e.Progress == nil || !e.Progress.Guessed || e.Progress.Done == 9 {
			t.Errorf("%+v", e)
		}
	}
	if text := a.output(); !strings.Contains(text, "progress 9/10 nearly\nmetric accuracy 0.99\n") || !strings.Contains(text, "metric accuracy 0.98\n") {
		t.Error(text)
	}
}

func TestWhoReportsInALoopFillsNothing(t *testing.T) {
	t.Parallel()
	a := newLaunch(t, "flooder")
	a.launch()
	e := a.exit(20 * time.Second)
	events := a.events()
	last := map[string]float64{}
	for _, e := range events {
		if e.Progress != nil {
			last["progress"] = e.Progress.Done
		}
		if e.Metric != nil {
			last[e.Metric.Name] = e.Metric.Value
		}
	}
	if len(events) > 300 || last["progress"] != 50_000 || last["m0"] != 49_998 || last["m1"] != 49_999 || last["m2"] != 49_997 || e.Exit.Code != 0 {
		t.Errorf("%d events, last %v, %+v", len(events), last, e)
	}
}

func TestWhatIsCutAnywhereArrivesWhole(t *testing.T) {
	t.Parallel()
	const token = "tok-4711-secret"
	a := newLaunch(t, "splitter", "TOKEN="+token)
	a.order.Secrets = []string{token}
	a.order.Experiment = &assay.LinkRule{Pattern: `https://example\.org/\S+`}
	a.launch()
	a.exit(5 * time.Second)
	if text := a.output(); text != "a **** b\n€\n\x1b[31mred\x1b[0m\nhttps://example.org/****\nhttps://example.org/tok-4" {
		t.Errorf("%q", text)
	}
	events := a.events()
	if !has(events, func(e report.Event) bool { return e.Experiment == "https://example.org/tok-4" }) ||
		!has(events, func(e report.Event) bool {
			return e.Link != nil && e.Link.URL == "https://example.org/?key=****" && e.Link.Text == "x****"
		}) {
		t.Errorf("%+v", events)
	}
}

func TestSecretsAreNowhere(t *testing.T) {
	t.Parallel()
	const token = "tok-0815-secret"
	env, open := fifo(t)
	a := newLaunch(t, "waiter", env, "TOKEN="+token)
	a.order.Secrets = []string{token}
	a.order.Argv = append(a.order.Argv, "--key="+token)
	a.launch()
	a.await(Alive)
	shim := a.started().Shim.PID
	look := func(what string, raw []byte, err error) {
		t.Helper()
		if err != nil {
			t.Error(err)
		}
		if strings.Contains(string(raw), token) || strings.Contains(string(raw), base64.StdEncoding.EncodeToString([]byte(token))) {
			t.Errorf("a secret stands in %s", what)
		}
	}
	for _, of := range []string{"cmdline", "environ"} {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", shim, of))
		if len(raw) == 0 {
			t.Errorf("%s is empty", of)
		}
		look(of, raw, err)
	}
	open()
	a.exit(5 * time.Second)

	missing := newLaunch(t, "argv")
	missing.order.Secrets = []string{token}
	missing.order.Argv = []string{"/no/such/" + token}
	missing.launch()
	missing.exit(5 * time.Second)

	for _, dir := range []string{a.dir, a.order.LogDir, missing.dir, missing.order.LogDir} {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Type().IsRegular() {
				raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
				look(e.Name(), raw, err)
			}
		}
	}
}

func TestEventsAreFoundByNumber(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, eventsFile))
	if err != nil {
		t.Fatal(err)
	}
	const all = 5000
	for n := range int64(all) {
		raw, _ := json.Marshal(report.Event{N: n + 1, Metric: &assay.Metric{Name: strings.Repeat("x", int(n%90)), Value: float64(n)}})
		fmt.Fprintf(f, "%s\n", raw)
		if n%700 == 3 { // what a full disk left
			fmt.Fprintf(f, "%s\n\n", raw[:len(raw)/2])
		}
	}
	fmt.Fprint(f, `{"n":5001,"metr`) // not whole yet
	f.Close()
	for _, after := range []int64{0, 1, 2, 3, 4, 5, 700, 704, 2499, 4998, all - 1, all, all + 5} {
		want := after + 1
		err := Events(dir, after, func(e report.Event) error {
			if e.N != want || e.Metric.Value != float64(want-1) {
				return fmt.Errorf("event %d, want %d", e.N, want)
			}
			want++
			return nil
		})
		if err != nil || want != max(all, after)+1 {
			t.Errorf("after %d: read to %d, %v", after, want-1, err)
		}
	}
	if err := Events(t.TempDir(), 0, nil); err != nil {
		t.Error(err)
	}
}

func TestAFullDiskTearsOneEventOnly(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e, err := openEvents(dir, durable.Disk{}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	metric := func(name string) report.Event { return report.Event{Metric: &assay.Metric{Name: name}} }
	e.add([]report.Event{metric("one")})
	whole := e.file
	if e.file, err = os.Open(filepath.Join(dir, eventsFile)); err != nil { // may not be written to
		t.Fatal(err)
	}
	e.add([]report.Event{metric("two")})
	e.file.Close()
	fmt.Fprint(whole, `{"n":2,"met`)
	e.torn, e.file = true, whole
	e.add([]report.Event{metric("three")})
	e.close()
	e.add([]report.Event{metric("late")})
	var names []string
	if err := Events(dir, 0, func(e report.Event) error {
		names = append(names, fmt.Sprint(e.N, e.Metric.Name))
		return nil
	}); err != nil || fmt.Sprint(names) != "[1one 2three 3two]" {
		t.Errorf("%v %v", names, err)
	}
}

func TestAReportBeatsAGuess(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e, err := openEvents(dir, durable.Disk{}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	for i, guessed := range []bool{true, false, true} {
		e.add([]report.Event{{Progress: &assay.Progress{Done: float64(i + 1), Guessed: guessed}}})
	}
	e.close()
	last := 0.0
	if err := Events(dir, 0, func(e report.Event) error { last = e.Progress.Done; return nil }); err != nil || last != 2 {
		t.Error(last, err)
	}
}
