package taubench

import (
	"strings"
	"testing"

	"assay/internal/session/piece"
)

func read(raw string) piece.Record { return piece.Piece{Line: 1, Raw: []byte(raw)}.Read(Parse) }

func TestAttempt(t *testing.T) {
	r := read(`{"task_id": 7, "trial": 2, "reward": 1.0, "traj": [{"role":"system","content":"S"},{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}], "info": {"task": {"user_id": "u", "actions": [{"kwargs": {}}]}, "cost": NaN}}`)
	if r.Fault != nil {
		t.Fatal(r.Fault)
	}
	s := r.Session
	if s.UserID != "u" || s.SessionID != "task-7-trial-2" || len(s.Turns) != 2 || len(s.Turns[0].Messages) != 3 || s.Turns[1].Source != "tau-bench" || r.Repaired {
		t.Errorf("%+v", r)
	}
	if m := s.Turns[0].Metadata; string(m["case"]) != `"7"` || string(m["trial"]) != `"2"` || len(m) != 2 || s.Turns[1].Metadata != nil {
		t.Errorf("metadata %s", m)
	}
}

func TestRewards(t *testing.T) {
	for reward, want := range map[string]string{`1`: "true", `1.0`: "true", `true`: "true", `0.0`: "false", `0`: "false", `false`: "false", `0.5`: "", `null`: "", `"1"`: "", `NaN`: ""} {
		r := read(`{"task_id":"a","reward":` + reward + `,"traj":[],"info":null}`)
		got := ""
		if len(r.Labels) == 1 {
			got = string(r.Labels[0].Value)
		}
		if r.Fault != nil || got != want || r.Session.SessionID != "task-a-trial-0" || r.Session.UserID != "unknown" || !r.Session.Empty() {
			t.Errorf("%s: got %q, want %q: %+v", reward, got, want, r)
		}
	}
}

func TestFaults(t *testing.T) {
	for raw, want := range map[string]string{`{}`: `no member "task_id"`, `{"task_id":1}`: `no member "traj"`, `{"task_id":1,"traj":{}}`: "/traj: an object", `7`: "a number is not expected here"} {
		if r := read(raw); r.Fault == nil || !strings.Contains(r.Fault.Error(), want) {
			t.Errorf("%s: got %v, want %s", raw, r.Fault, want)
		}
	}
}
