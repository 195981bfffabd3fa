package api

import (
	"context"
	"sync"
	"time"

	"assay/internal/assay"
	"assay/internal/store"
)

// rekeyBatch keeps one write transaction well under 50 ms.
const rekeyBatch = 1000

// patchProject changes settings. Where arms, days or cases depend on them it recomputes these before
// it answers, also when the client leaves meanwhile.
func (s *server) patchProject(ctx context.Context, name string, change SettingsPatch) (Project, error) {
	gate := s.gates.of(name)
	gate.settings.Lock() // reading and writing settings belong together
	defer gate.settings.Unlock()
	p, err := s.Store.Projects().Get(ctx, name)
	if err != nil {
		return Project{}, err
	}
	settings := change.apply(p.Settings)
	if err := settings.Validate(); err != nil {
		return Project{}, err
	}
	if sameKeys(p.Settings, settings) {
		p, err = s.Store.Projects().Update(ctx, p.ID, settings, false)
		return projectView(p), err
	}
	if p.Rekeying {
		return Project{}, busyRekeying(name)
	}
	if !gate.sessions.TryLock() {
		return Project{}, assay.Errorf(assay.CodeUnavailable, "sessions are being imported into project %s", name).
			WithHint("arms, days and cases are recomputed when no import runs: try again when it has ended")
	}
	defer gate.sessions.Unlock()
	if p, err = s.Store.Projects().Update(ctx, p.ID, settings, true); err != nil {
		return Project{}, err
	}
	ctx = context.WithoutCancel(ctx)
	if err := Rekey(ctx, s.Store, p); err != nil {
		return Project{}, err
	}
	return s.getProject(ctx, ProjectInput{Project: name})
}

func sameKeys(a, b assay.Settings) bool {
	return a.ArmKey == b.ArmKey && a.ArmType == b.ArmType && a.CaseKey == b.CaseKey && a.Zone == b.Zone
}

func busyRekeying(name string) error {
	return assay.Errorf(assay.CodeUnavailable, "arms, days and cases of project %s are being recomputed", name).
		WithHint("try again in a moment")
}

// Rekey recomputes the arm, day and case of every session of p from the stored first turn, and clears
// Rekeying. A process that ends meanwhile leaves Rekeying set; its successor calls FinishRekeying.
func Rekey(ctx context.Context, st store.Store, p assay.Project) error {
	for {
		zone, err := time.LoadLocation(p.Settings.Zone)
		if err != nil {
			return assay.Errorf(assay.CodeInvalid, "zone %q is not a known time zone: %w", p.Settings.Zone, err)
		}
		if err := rekeyAll(ctx, st, p, zone); err != nil {
			return err
		}
		done, err := st.Projects().Rekeyed(ctx, p.ID, p.Settings)
		if done || err != nil {
			return err
		}
		if p, err = st.Projects().Get(ctx, p.Name); err != nil || !p.Rekeying {
			return err
		}
	}
}

func rekeyAll(ctx context.Context, st store.Store, p assay.Project, zone *time.Location) error {
	for after := assay.SessionKey(0); ; {
		last, err := st.Sessions().Rekey(ctx, p.ID, after, rekeyBatch, func(h *assay.Head) { h.Place(p.Settings, zone) })
		if err != nil || last == 0 {
			return err
		}
		after = last
	}
}

// FinishRekeying completes what an ended process left: an owner calls it when it starts.
func FinishRekeying(ctx context.Context, st store.Store) error {
	projects, err := st.Projects().List(ctx)
	if err != nil {
		return err
	}
	for _, p := range projects {
		if !p.Rekeying {
			continue
		}
		if err := Rekey(ctx, st, p); err != nil {
			return err
		}
	}
	return nil
}

// gates keep imports, which compute arms from the settings they began with, apart from a change of
// those settings.
type gates struct {
	mu sync.Mutex
	by map[string]*gate
}

type gate struct {
	settings sync.Mutex
	sessions sync.RWMutex // read: an import; write: recomputing
}

func (g *gates) of(project string) *gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.by == nil {
		g.by = map[string]*gate{}
	}
	if g.by[project] == nil {
		g.by[project] = &gate{}
	}
	return g.by[project]
}
