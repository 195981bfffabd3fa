package assay

import (
	"testing"
	"time"
)

func TestDefaultSettings(t *testing.T) {
	s := DefaultSettings()
	if s.PerStratum != 200 || s.Concurrency != 10 || s.Settle != 10*time.Minute || s.Zone != "UTC" || s.OneGradeRun {
		t.Errorf("%+v", s)
	}
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
}

func TestSettingsThatCannotWork(t *testing.T) {
	for name, change := range map[string]func(*Settings){
		"no concurrency":      func(s *Settings) { s.Concurrency = 0 },
		"too much":            func(s *Settings) { s.Concurrency = MaxConcurrency + 1 },
		"no sessions":         func(s *Settings) { s.PerStratum = 0 },
		"negative settling":   func(s *Settings) { s.Settle = -time.Second },
		"no such zone":        func(s *Settings) { s.Zone = "Mars/Olympus" },
		"the machine's zone":  func(s *Settings) { s.Zone = "Local" },
		"a machine's zone":    func(s *Settings) { s.Zone = "localtime" },
		"a machine's rules":   func(s *Settings) { s.Zone = "posixrules" },
		"no zone":             func(s *Settings) { s.Zone = "" },
		"no such type of arm": func(s *Settings) { s.ArmType = "number" },
	} {
		s := DefaultSettings()
		change(&s)
		err := s.Validate()
		e, ok := err.(*Error)
		if !ok || e.Code != CodeInvalid || e.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
	}
}
