package api_test

import (
	"context"
	"io"
	"reflect"
	"strings"
	"testing"

	"assay/internal/api"
	"assay/internal/assay"
	"assay/internal/store"
)

func TestProjects(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	zone := "Europe/Berlin"
	p, err := w.tcp.CreateProject(ctx, "two", &api.SettingsPatch{Zone: &zone})
	if err != nil || p.Settings.Zone != zone || p.Settings.PerStratum != 200 {
		t.Fatalf("%+v, %v", p, err)
	}
	_, err = w.tcp.CreateProject(ctx, "two", nil)
	holds(t, err, assay.CodeConflict)
	for _, name := range []string{"", "Two", "a/b", strings.Repeat("x", 65)} {
		_, err = w.tcp.CreateProject(ctx, name, nil)
		holds(t, err, assay.CodeInvalid)
	}
	all, err := w.tcp.Projects(ctx)
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	_, err = w.tcp.Project(ctx, "three")
	holds(t, err, assay.CodeNotFound)
	if err := w.tcp.DeleteProject(ctx, "two"); err != nil {
		t.Fatal(err)
	}
	_, err = w.tcp.Project(ctx, "two")
	holds(t, err, assay.CodeNotFound)
}

func TestSettings(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	zero, twenty, wrong := 0, 20, "Mars/Olympus"
	_, err := w.tcp.PatchProject(ctx, "default", api.SettingsPatch{Concurrency: &zero})
	if e := holds(t, err, assay.CodeInvalid); !strings.Contains(e.Hint, "never end") {
		t.Errorf("0 is refused without the reason: %q, hint %q", e.Message, e.Hint)
	}
	_, err = w.tcp.PatchProject(ctx, "default", api.SettingsPatch{Zone: &wrong})
	holds(t, err, assay.CodeInvalid)
	p, err := w.tcp.PatchProject(ctx, "default", api.SettingsPatch{Concurrency: &twenty})
	if err != nil || p.Settings.Concurrency != 20 || p.Settings.ArmKey != "arm" {
		t.Fatalf("%+v, %v", p, err)
	}
}

func TestRekeying(t *testing.T) {
	w := stocked(t, 2500)
	ctx := t.Context()
	if got := arms(t, w); got["a"] != 1250 || got["b"] != 1250 {
		t.Fatalf("arms %v", got)
	}
	w.judge.open()
	few, old := 3, good()
	old.PerStratum = &few
	g, err := w.socket.Grade(ctx, "default", old, "")
	if err != nil {
		t.Fatal(err)
	}
	ended(t, w.socket, g.ID)
	before, err := w.socket.Run(ctx, g.ID)
	if err != nil {
		t.Fatal(err)
	}
	group, zone := "group", "Pacific/Kiritimati" // 14 h ahead: noon is the next day
	p, err := w.socket.PatchProject(ctx, "default", api.SettingsPatch{ArmKey: &group, Zone: &zone})
	if err != nil || p.Rekeying || p.Totals.Sessions != 2500 {
		t.Fatalf("%+v, %v", p, err)
	}
	if got := arms(t, w); got["g"] != 2500 {
		t.Errorf("arms %v", got)
	}
	page, err := w.socket.Sessions(ctx, "default", api.SessionQuery{}, store.Page{Limit: 1})
	if err != nil || page.Items[0].Day != "2026-07-02" {
		t.Errorf("%+v, %v", page, err)
	}
	if after, err := w.socket.Run(ctx, g.ID); err != nil || !reflect.DeepEqual(after, before) || after.Spec.Settings.Zone != "UTC" || len(after.Strata) == 0 {
		t.Errorf("a run keeps what it was planned with: %+v, before %+v (%v)", after, before, err)
	}
	empty := ""
	if _, err = w.socket.PatchProject(ctx, "default", api.SettingsPatch{ArmKey: &empty}); err != nil {
		t.Fatal(err)
	}
	if got := arms(t, w); got[assay.Untagged] != 2500 {
		t.Errorf("arms %v", got)
	}
}

func arms(t *testing.T, w *world) map[string]int {
	t.Helper()
	got := map[string]int{}
	for cursor := ""; ; {
		page, err := w.socket.Sessions(t.Context(), "default", api.SessionQuery{}, store.Page{Cursor: cursor, Limit: 999})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range page.Items {
			got[h.Arm]++
		}
		if cursor = page.Next; cursor == "" {
			return got
		}
	}
}

// TestRekeyingAndImportsTakeTurns: an import computes arms from the settings that it began with, so
// keys must not change under it.
func TestRekeyingAndImportsTakeTurns(t *testing.T) {
	w := newWorld(t)
	ctx := t.Context()
	file, sender := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := w.tcp.Import(ctx, "default", assay.ImportOptions{Format: "native"}, file, nil)
		done <- err
	}()
	if _, err := io.WriteString(sender, sessions(t, 1)); err != nil { // read by the server: the import has begun
		t.Fatal(err)
	}
	group := "group"
	var err error
	waitFor(t, func() bool {
		_, err = w.tcp.PatchProject(ctx, "default", api.SettingsPatch{ArmKey: &group})
		arm := "arm"
		if err == nil { // it came before the import took its turn: put it back
			_, _ = w.tcp.PatchProject(ctx, "default", api.SettingsPatch{ArmKey: &arm})
		}
		return err != nil
	})
	holds(t, err, assay.CodeUnavailable)
	sender.Close()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if _, err = w.tcp.PatchProject(ctx, "default", api.SettingsPatch{ArmKey: &group}); err != nil {
		t.Fatal(err)
	}
	if got := arms(t, w); got["g"] != 1 {
		t.Errorf("arms %v", got)
	}
}

func TestFinishRekeying(t *testing.T) {
	w := stocked(t, 30)
	ctx := context.WithoutCancel(t.Context())
	p, err := w.store.Projects().Get(ctx, "default")
	if err != nil {
		t.Fatal(err)
	}
	p.Settings.ArmKey = "group"
	if _, err := w.store.Projects().Update(ctx, p.ID, p.Settings, true); err != nil {
		t.Fatal(err)
	}
	// As a dead process left it: nothing that depends on the keys may begin.
	_, err = w.tcp.Import(ctx, "default", assay.ImportOptions{Format: "native"}, strings.NewReader(sessions(t, 1)), nil)
	holds(t, err, assay.CodeUnavailable)
	if err := api.FinishRekeying(ctx, w.store); err != nil {
		t.Fatal(err)
	}
	if got := arms(t, w); got["g"] != 30 {
		t.Errorf("arms %v", got)
	}
	if v, err := w.tcp.Project(ctx, "default"); err != nil || v.Rekeying {
		t.Errorf("%+v, %v", v, err)
	}
}
