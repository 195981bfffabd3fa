// Package command answers by a program: the session as JSON on its stdin, the verdict as JSON on its
// stdout.
//
// It owns what the program is given and how its output becomes findings. It refuses to know how a
// process is ended (internal/process does). Its invariant: the program that answers is byte for byte
// the one whose hash is in the judge version, and whatever it does but print a whole verdict and
// exit with 0 is never a verdict.
package command

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"assay/internal/assay"
	"assay/internal/judge"
	"assay/internal/process"
)

// Version names what a program is given on stdin and what it may print.
const Version = "command/1"

// Spec is the kind's part of a definition. What a program loads beyond Files is outside the hash.
type Spec struct {
	Argv  []string `json:"argv"`
	Env   []string `json:"env,omitempty"` // names of variables that the program gets, sorted; PATH always
	Files []File   `json:"files"`
}

// Settings are what cannot change an answer.
type Settings struct {
	Folder  string        `json:"folder"` // where argv's relative paths begin; the program's working folder
	Timeout time.Duration `json:"timeout,omitempty"`
}

// DefaultTimeout ends a program that was given no other limit.
const DefaultTimeout = time.Minute

const (
	grace     = 2 * time.Second
	maxStdout = 1 << 20
	maxStderr = 4 << 10
)

// Env is what this machine gives.
type Env struct {
	LookupEnv func(string) (string, bool)
}

func (e Env) path() string {
	if p, ok := e.LookupEnv("PATH"); ok {
		return p
	}
	return "/usr/local/bin:/usr/bin:/bin"
}

// NewSpec finds and hashes the program.
func NewSpec(argv, allowed []string, folder string, env Env) (Spec, error) {
	p, err := find(argv, folder, env.path())
	if err != nil {
		return Spec{}, err
	}
	s := Spec{Argv: argv, Env: slices.Clone(allowed)}
	slices.Sort(s.Env)
	s.Env = slices.Compact(s.Env)
	for _, f := range p.files {
		s.Files = append(s.Files, f.File)
	}
	return s, nil
}

// Judge answers by a program.
type Judge struct {
	criteria []assay.Criterion
	fields   []string
	pass     *judge.PassRule
	program  program
	env      []string
	secrets  []string
	timeout  time.Duration
}

// New finds the program again and refuses one whose content is not that of the version.
func New(d judge.Definition, s Spec, settings Settings, env Env) (*Judge, error) {
	pass, err := judge.NewPassRule(d.Pass, d.Criteria)
	if err != nil {
		return nil, err
	}
	if len(s.Argv) == 0 {
		return nil, assay.Errorf(assay.CodeInvalid, "the judge's command is empty").WithHint("give argv as a list")
	}
	p, err := find(s.Argv, settings.Folder, env.path())
	if err != nil {
		return nil, err
	}
	now := make([]File, len(p.files))
	for i, f := range p.files {
		now[i] = f.File
	}
	if !slices.Equal(now, s.Files) {
		return nil, assay.Errorf(assay.CodeInvalid, "the command's program is not the one that the judge was applied with").
			WithHint("apply the judge again with `assay judge apply`: that makes a new version, and old verdicts stay")
	}
	j := &Judge{criteria: d.Criteria, fields: d.Fields, pass: pass, program: p, timeout: settings.Timeout}
	if j.timeout <= 0 {
		j.timeout = DefaultTimeout
	}
	names := make([]string, len(d.Criteria))
	for i, c := range d.Criteria {
		names[i] = c.Name
	}
	j.env = []string{"PATH=" + env.path(), "LANG=C.UTF-8", "ASSAY_CRITERIA=" + strings.Join(names, ",")}
	for _, name := range s.Env {
		if value, ok := env.LookupEnv(name); ok && name != "PATH" {
			j.env = append(j.env, name+"="+value)
			if len(value) >= 8 {
				j.secrets = append(j.secrets, value)
			}
		}
	}
	return j, nil
}

func (j *Judge) NeedsBody() bool { return true }

func (j *Judge) Close() error { return nil }

// Ask runs the program once. Its stdin is the session in the native form without the hidden fields,
// one line of JSON; ASSAY_CRITERIA names the criteria, ASSAY_REPEAT counts the repeats from 0.
func (j *Judge) Ask(ctx context.Context, q judge.Question) judge.Reply {
	var r judge.Reply // CallAt stays zero when the program is not run
	r.Answers, r.Class, r.Error = j.ask(ctx, q, &r)
	if r.EndedAt.IsZero() {
		r.EndedAt = time.Now()
	}
	return r
}

func (j *Judge) ask(ctx context.Context, q judge.Question, r *judge.Reply) ([]assay.Answer, assay.Class, string) {
	if q.Session == nil {
		return nil, assay.ClassSessionMissing, "the session's body is not there"
	}
	input, err := json.Marshal(judge.Shown(q.Session, j.fields))
	if err != nil {
		return nil, assay.ClassJudgeError, fmt.Sprintf("the session could not be written for the program: %v", err)
	}
	if file := j.program.changed(); file != "" {
		return nil, assay.ClassJudgeError, "the file " + file + " changed since the judge was applied; apply it again with `assay judge apply`"
	}
	r.CallAt = time.Now()
	result, err := process.Run(ctx, process.Spec{
		Argv: j.program.argv, Dir: j.program.dir, Env: append(slices.Clip(j.env), "ASSAY_REPEAT="+strconv.Itoa(q.Repeat)), Stdin: append(input, '\n'),
		MaxStdout: maxStdout, MaxStderr: maxStderr, Limit: j.timeout, Grace: grace,
	})
	r.EndedAt = time.Now()
	if err != nil {
		return nil, assay.ClassJudgeError, j.mask(err.Error())
	}
	r.Raw = j.mask(string(result.Stdout[:min(len(result.Stdout), judge.MaxRaw)]))
	if class, text := j.ended(result); class != assay.ClassNone {
		return nil, class, text
	}
	answer, err := j.read(q.Session, result)
	if err != nil {
		return nil, assay.ClassMalformed, j.mask("the program's answer could not be read: " + err.Error())
	}
	return []assay.Answer{answer}, assay.ClassNone, ""
}

// ended says what a process that did not end well means.
func (j *Judge) ended(p process.Result) (assay.Class, string) {
	switch {
	case p.End == process.EndLimit:
		return assay.ClassTimeout, fmt.Sprintf("the program ran longer than %s and was ended%s", j.timeout, j.said(p))
	case p.End == process.EndCancel:
		return assay.ClassAborted, "the program was ended because the question was withdrawn"
	case p.Signal != 0:
		return assay.ClassJudgeError, fmt.Sprintf("the program was ended by the signal %s%s", p.Signal, j.said(p))
	case p.Code != 0:
		return assay.ClassJudgeError, fmt.Sprintf("the program exited with %d%s", p.Code, j.said(p))
	case p.Dropped > 0:
		return assay.ClassMalformed, fmt.Sprintf("the program printed more than %d bytes", maxStdout)
	}
	return assay.ClassNone, ""
}

// said quotes the last line of stderr.
func (j *Judge) said(p process.Result) string {
	lines := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(p.Stderr), "�")), "\n")
	last := strings.TrimSpace(lines[len(lines)-1])
	if last == "" {
		return ""
	}
	return ": " + j.mask(last[:min(len(last), 500)])
}

// mask takes the values that the program was given out of what it printed: one may be a key.
func (j *Judge) mask(s string) string {
	for _, secret := range j.secrets {
		s = strings.ReplaceAll(s, secret, "[masked]")
	}
	return strings.ToValidUTF8(s, "�")
}

func (j *Judge) read(s *assay.Session, p process.Result) (assay.Answer, error) {
	out := bytes.TrimSpace(p.Stdout)
	if len(out) == 0 {
		return assay.Answer{}, fmt.Errorf("it printed nothing%s", j.said(p))
	}
	if !json.Valid(out) {
		return assay.Answer{}, fmt.Errorf("it is not one JSON object")
	}
	members, err := judge.Members(out)
	if err != nil {
		return assay.Answer{}, err
	}
	for _, m := range members {
		if !slices.ContainsFunc(j.criteria, func(c assay.Criterion) bool { return c.Name == m.Name }) {
			return assay.Answer{}, fmt.Errorf("%q is not a criterion of this judge", m.Name)
		}
	}
	findings, err := judge.ReadFindings(out, j.criteria)
	if err != nil {
		return assay.Answer{}, err
	}
	for i := range findings {
		findings[i].Reason = j.mask(findings[i].Reason)
		findings[i].Evidence = judge.Verify(s, findings[i].Evidence)
	}
	return j.pass.Answer(findings)
}
