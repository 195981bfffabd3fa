package wrap

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/api/client"
	"assay/internal/assay"
	"assay/internal/durable"
	"assay/internal/engine"
	"assay/internal/harness/channel"
	"assay/internal/harness/pipe"
	"assay/internal/harness/report"
	"assay/internal/harness/resultfile"
	"assay/internal/logs"
	"assay/internal/process"
)

// Job is a command to be run and what is told of it.
type Job struct {
	Argv      []string
	Name      string // of the run; the program's name where empty
	Project   string
	By        string
	Where     string // this machine
	Exclusive bool   // do not run while another run of this name is active
	Stale     time.Duration
	Grace     time.Duration // between TERM and KILL when the run is cancelled
	Env       []string      // names of variables that are told
	Secrets   []string      // names of variables whose values are masked
	Results   []assay.ResultFile
	Link      *assay.LinkRule // of the experiment's address
	Spool     string          // the folder of spools
	Place                     // where it is told, now or by a later --send
	Patience  time.Duration   // for what is still to be told when the command has ended

	Stdin       *os.File
	Signals     <-chan os.Signal // are the command's, and afterwards stop the telling
	Out, Err    io.Writer
	Say         func(string, ...any)
	Connect     func(Start) (Server, error) // of a server that may not be there
	LastConnect func(Start) (Server, error) // once, when the command has ended

	disk durable.Disk
}

// Exit statuses of a command that could not be run, as shells have them.
const (
	statusUnfound   = 127
	statusUnallowed = 126
)

// running is a job under way.
type running struct {
	Job
	secrets []string     // values
	masker  *logs.Masker // of them; its stream is the output
	spool   *spool
	log     *logs.Writer
	started time.Time
	folder  string            // where it runs
	before  resultfile.Stamps // result files that were there already

	mu      sync.Mutex
	watcher *report.Watcher
	pass    []byte
}

// Done is how a job ended.
type Done struct {
	Status int         // that this process is to end with
	Run    assay.RunID // as the server numbered it; 0 where it was never told
	Told   bool        // the server knows everything
}

// Run runs the command. An error means that it was not run, because of how it was asked for.
func Run(ctx context.Context, j Job) (d Done, err error) {
	r := &running{Job: j, started: time.Now()}
	if r.secrets, err = secretValues(j.Secrets); err != nil {
		return d, err
	}
	if r.masker, err = logs.NewMasker(r.secrets); err != nil {
		return d, assay.Errorf(assay.CodeInvalid, "secret: %w", err).WithHint("leave it out: what is so short would be found everywhere")
	}
	if r.watcher, err = report.NewWatcher(j.Link); err != nil {
		return d, assay.Errorf(assay.CodeInvalid, "%w", err)
	}
	if r.folder, err = os.Getwd(); err != nil { // it is gone: patterns from the root are found still
		r.folder = "."
	}
	start := r.begin()
	if err := start.Ask.Validate(); err != nil {
		return d, err
	}
	if err := r.keep(start); err != nil {
		j.Say("nothing of this run is told: %s", err)
		return Done{Status: r.alone()}, nil
	}
	server, err := j.Connect(r.spool.start)
	if err != nil {
		return d, err
	}
	s := &sender{spool: r.spool, server: server, hopeful: j.LastConnect == nil}
	if j.Exclusive {
		if err := r.ask(ctx, s); err != nil {
			return d, err
		}
	}
	return r.run(s), nil
}

// secretValues are the values of variables that are set.
func secretValues(names []string) (values []string, err error) {
	for _, name := range names {
		if v, ok := os.LookupEnv(name); ok && v != "" {
			if len(v) < logs.MinSecret {
				return nil, assay.Errorf(assay.CodeInvalid, "the secret in %s is shorter than %d bytes and cannot be masked", name, logs.MinSecret).
					WithHint("what is so short would be found everywhere")
			}
			values = append(values, v)
		}
	}
	return values, nil
}

// begin is what the server is told first.
func (r *running) begin() Start {
	name := r.Name
	if name == "" {
		name = cmp.Or(engine.ExternalName(filepath.Base(r.Argv[0])), "command")
	}
	argv := make([]string, len(r.Argv))
	for i, arg := range r.Argv {
		argv[i] = r.masker.Text(arg)
	}
	return Start{Project: r.Project, Key: client.NewKey(), Place: r.Place, At: r.started.UTC(), Ask: engine.ExternalRequest{
		Name: name, Exclusive: r.Exclusive, Argv: bounded(argv), Where: r.Where, PID: os.Getpid(), Env: bounded(r.environment()), Stale: assay.Seconds(r.Stale), By: r.By,
	}}
}

// mostTold bounds a command line and an environment, in bytes: a server takes a start of 1 MiB, and a byte
// may need six there.
const mostTold = 64 << 10

// bounded leaves out what is too much of a list, and says so.
func bounded(list []string) []string {
	room := mostTold
	for i, text := range list {
		if room -= len(text) + 1; room >= 0 {
			continue
		}
		kept := strings.ToValidUTF8(text[:max(0, len(text)+room)], "")
		return append(slices.Clone(list[:i]), kept+fmt.Sprintf("[assay: too long, %d bytes and %d more are left out]", len(text)-len(kept), len(list)-i-1))
	}
	return list
}

// keep makes the spool.
func (r *running) keep(start Start) (err error) {
	if r.spool, err = newSpool(r.Spool, start, r.disk); err != nil {
		return err
	}
	r.log, err = logs.OpenWriter(r.spool.path(logDir), logs.Options{Secrets: r.secrets, Room: true, Disk: r.disk})
	return err
}

// environment is what is told of it: what was named, and of secrets only that they are there.
func (r *running) environment() (env []string) {
	for _, name := range r.Env {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+r.masker.Text(v))
		}
	}
	for _, name := range r.Secrets {
		if os.Getenv(name) != "" {
			env = append(env, name+"=****")
		}
	}
	return env
}

// askTime bounds how long an exclusive run waits for the answer that it may start.
const askTime = 10 * time.Second

// ask starts the run before the command: another active run of its name is an error. A server that does not
// answer refuses nothing.
func (r *running) ask(ctx context.Context, s *sender) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	_, err := s.step(ctx, false)
	if assay.CodeOf(err) == assay.CodeConflict {
		_ = r.log.Close()
		_ = r.spool.drop()
		return err
	}
	return nil
}

// run runs the command, tells what comes, and what is left at the end.
func (r *running) run(s *sender) Done {
	r.before = resultfile.Note(r.folder, r.Results)
	stops := make(chan struct{})
	s.stop = sync.OnceFunc(func() { close(stops) })
	telling, enough := context.WithCancel(context.Background())
	followed := make(chan struct{})
	go func() { defer close(followed); s.follow(telling, r.Say) }()
	f, status := r.child(stops)
	ended := time.Now()
	f.Cases, f.Results = r.results()
	if err := r.log.Close(); err != nil {
		r.Say("the end of the output could not be kept: %s", err)
	}
	if err := r.spool.seal(); err != nil {
		r.Say("the end of the reports could not be kept: %s", err)
	}
	if err := r.spool.write(finishFile, f); err != nil { // the last: what has it is whole
		r.Say("%s", err)
	}
	enough()
	<-followed
	s.end = &f
	told := r.last(s, ended)
	return Done{Status: status, Run: s.state.Run, Told: told}
}

// sameSignal is how long after the command's end a signal is one that it got too: wrappers such as
// timeout(1) send it to the process and to its group.
const sameSignal = 300 * time.Millisecond

// unlessSignalled ends when somebody wants this process to end who has waited for the command.
func (r *running) unlessSignalled(ctx context.Context, ended time.Time) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-r.Signals:
				if time.Since(ended) > sameSignal {
					cancel()
				}
			}
		}
	}()
	return ctx, cancel
}

// last tells what is left, for as long as it may take, and says what becomes of the rest.
func (r *running) last(s *sender, ended time.Time) (told bool) {
	wanted, enough := r.unlessSignalled(context.Background(), ended)
	defer enough()
	ctx, cancel := context.WithTimeout(wanted, r.Patience)
	defer cancel()
	err := s.patiently(ctx)
	if err != nil && r.LastConnect != nil && wanted.Err() == nil {
		server, failed := r.LastConnect(r.spool.start)
		if err = failed; err == nil {
			s.server = server
			err = s.all(wanted) // it is this process's own
		}
	}
	if err == nil {
		_ = r.spool.drop() // what stays is told again, and changes nothing
		return true
	}
	r.spool.close()
	r.Say("not all could be told (%s); it is kept in %s: `assay wrap --send %s`, or the next `assay wrap`, tells it", err, r.spool.dir, r.spool.dir)
	return false
}

// child runs the command to its end.
func (r *running) child(stops <-chan struct{}) (f engine.Finish, status int) {
	out, outEnd, err := os.Pipe()
	if err != nil {
		return engine.Finish{Code: -1, Error: err.Error()}, statusUnallowed
	}
	errs, errsEnd, err := os.Pipe()
	if err != nil {
		return engine.Finish{Code: -1, Error: err.Error()}, statusUnallowed
	}
	reports, theirs, err := channel.Open(r.spool.path(fifoFile))
	if err != nil {
		r.Say("no report channel: %s", err)
	}
	markValue := "ASSAY_WRAP_" + rand.Text() + "=1" // a name of its own: a wrap inside this one keeps it, and sets another
	spec := process.TreeSpec{Argv: r.Argv, Dir: ".", Stdin: r.stdin(), Stdout: outEnd, Stderr: errsEnd, Mark: markValue, Env: append(os.Environ(), markValue)}
	if reports != nil {
		spec.Extra = []*os.File{theirs}
		spec.Env = append(spec.Env, reports.Env()...)
		reports.Listen(r.masker, func(e report.Event) { r.spool.add(e) }, r.log.Mark)
		defer reports.Close()
	}
	tree, err := process.StartTree(spec)
	if err != nil {
		out.Close()
		errs.Close()
		fmt.Fprintf(r.Err, "assay: %s\n", err)
		r.log.Mark("could not be started: " + err.Error())
		return engine.Finish{Code: -1, Error: r.masker.Text(err.Error())}, unstarted(err)
	}
	var reading sync.WaitGroup
	reading.Go(func() { r.copy(out, r.Out) })
	reading.Go(func() { r.copy(errs, r.Err) })
	facts := r.await(tree, stops)
	drain(&reading, out, errs)
	r.rest()
	f = engine.Finish{Code: facts.Code}
	if facts.Signal != 0 {
		f.Code, f.Signal = -1, unix.SignalName(facts.Signal)
		return f, 128 + int(facts.Signal)
	}
	return f, facts.Code
}

// stdin is what the command reads. A terminal belongs to another group of processes than the command, which
// would be stopped when it read from it.
func (r *running) stdin() *os.File {
	if r.Stdin == nil {
		return nil
	}
	if _, err := unix.IoctlGetWinsize(int(r.Stdin.Fd()), unix.TIOCGWINSZ); err == nil {
		return nil
	}
	return r.Stdin
}

// unstarted is the status of a command that could not be started.
func unstarted(err error) int {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, exec.ErrNotFound) {
		return statusUnfound
	}
	return statusUnallowed
}

// endLimit is how long KILL may take to work.
const endLimit = 5 * time.Second

// await hands signals on until the command has ended. A cancel ends it with all that it started; by itself
// it may leave what it likes.
func (r *running) await(tree *process.Tree, stops <-chan struct{}) process.ExitFacts {
	for {
		select {
		case <-tree.Exited():
			return tree.Leave()
		case sig := <-r.Signals:
			tree.Signal(sig.(syscall.Signal))
		case <-stops:
			r.Say("cancelled: the command is told to end")
			r.log.Mark("cancelled: told to end")
			tree.Signal(syscall.SIGTERM)
			grace := time.NewTimer(r.Grace)
			defer grace.Stop()
			select {
			case <-tree.Exited():
			case <-grace.C:
			}
			facts, left := tree.End(endLimit)
			if len(left) > 0 {
				r.Say("these processes would not end: %v", left)
			}
			return facts
		}
	}
}

// drainLimit is how long output is waited for when the command has ended and what it left holds it open.
const drainLimit = time.Second

func drain(reading *sync.WaitGroup, pipes ...*os.File) {
	done := make(chan struct{})
	go func() { reading.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(drainLimit):
		for _, p := range pipes {
			_ = p.SetReadDeadline(time.Now())
		}
		<-done
	}
}

// copy hands output on, at once and as it is, and keeps it masked. Where nobody reads any more it closes the
// pipe, so that the command learns of it as it would without us.
func (r *running) copy(from *os.File, to io.Writer) {
	defer from.Close()
	out := pipe.NewReader(from)
	buf := make([]byte, 64<<10)
	for {
		n, err := out.Read(buf)
		if n > 0 {
			_, unread := to.Write(buf[:n])
			r.take(buf[:n])
			if err == nil {
				err = unread
			}
		}
		if err != nil {
			return
		}
	}
}

// take keeps output, and looks at it for a progress bar and the experiment's address.
func (r *running) take(p []byte) {
	_, _ = r.log.Write(p) // it never fails
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pass = r.masker.Append(r.pass[:0], p)
	r.spool.add(r.watcher.See(r.pass, time.Now())...)
}

func (r *running) rest() {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	r.spool.add(r.watcher.See(r.masker.Rest(nil), now)...)
	r.spool.add(r.watcher.Rest(now)...)
}

// alone becomes the command: nobody is told, and nothing is between it and whoever called. It returns only
// where the command cannot be started.
func (r *running) alone() int {
	path, err := process.Find(r.Argv[0], ".", os.Environ())
	if err == nil {
		if err = syscall.Exec(path, r.Argv, os.Environ()); err != nil {
			err = fmt.Errorf("start %s: %w", path, err)
		}
	}
	fmt.Fprintf(r.Err, "assay: %s\n", err)
	return unstarted(err)
}
