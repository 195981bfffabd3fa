package process

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// playTree plays the processes of a tree and the one that keeps it.
func playTree(role string) {
	switch role {
	case "keeper":
		keep()
	case "tree": // starts one of every kind of descendant, says who they are, and stays or leaves
		signal.Ignore(syscall.SIGTERM)
		pids := []int{os.Getpid(), startRole("stubborn-child", false, nil)}
		pids = append(pids, startTelling("middle", false)...)
		pids = append(pids, startTelling("daemonizer", true)...)
		pids = append(pids, startRole("stubborn-child", true, []string{"PROCESS_ROLE=stubborn-child"}))
		announce(pids...)
		if code, err := strconv.Atoi(os.Getenv("PROCESS_LEAVE")); err == nil {
			os.Exit(code)
		}
		block()
	case "middle": // stays, with a child in a session of its own
		signal.Ignore(syscall.SIGTERM)
		tell(os.Getpid(), startRole("stubborn-child", true, nil))
		block()
	case "daemonizer": // leaves a daemon behind
		tell(startRole("stubborn-child", false, nil))
	case "leaves-a-polite-daemon":
		announce(startTelling("polite-daemonizer", true)...)
	case "polite-daemonizer":
		tell(startTelling("polite-daemon", true)...)
	case "polite-daemon":
		terms := make(chan os.Signal, 1)
		signal.Notify(terms, syscall.SIGTERM)
		tell(os.Getpid())
		<-terms
	case "bystander":
		fmt.Println("here")
		block()
	}
}

// startRole starts this binary in a role, in a session of its own or not, with another environment or not.
func startRole(role string, session bool, env []string, extra ...*os.File) int {
	if env == nil {
		for _, e := range os.Environ() {
			if !strings.HasPrefix(e, "PROCESS_ROLE=") {
				env = append(env, e)
			}
		}
		env = append(env, "PROCESS_ROLE="+role)
	}
	p, err := os.StartProcess("/proc/self/exe", os.Args[:1], &os.ProcAttr{Env: env,
		Files: append([]*os.File{nil, os.Stdout, os.Stderr}, extra...), Sys: &syscall.SysProcAttr{Setsid: session}})
	if err != nil {
		panic(err)
	}
	go p.Wait()
	return p.Pid
}

// startTelling starts a role that tells who there is, and returns that.
func startTelling(role string, session bool) (pids []int) {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	startRole(role, session, nil, w)
	w.Close()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		panic(err)
	}
	for _, f := range strings.Fields(line) {
		pid, _ := strconv.Atoi(f)
		pids = append(pids, pid)
	}
	return pids
}

func tell(pids ...int) {
	fmt.Fprintln(os.NewFile(3, "tell"), strings.Trim(fmt.Sprint(pids), "[]"))
}

// kept is what a keeper says.
type kept struct {
	Error   string
	Remains Remains
	Facts   ExitFacts
	Left    []int
	Alone   bool
	Reaped  int
}

// keep is a process that holds one tree and does with it what its standard input says.
func keep() {
	say := json.NewEncoder(os.Stdout)
	if os.Getenv("KEEPER_PLAIN") == "" {
		if err := BecomeSubreaper(); err != nil {
			panic(err)
		}
	}
	s := TreeSpec{Argv: []string{"/proc/self/exe"}, Mark: os.Getenv("KEEPER_MARK"), Cgroup: os.Getenv("KEEPER_CGROUP") != "", Dir: os.Getenv("KEEPER_DIR"),
		Env: []string{"PROCESS_ROLE=" + os.Getenv("KEEPER_LEADER"), "PROCESS_PIDS=" + os.Getenv("PROCESS_PIDS"), "PROCESS_LEAVE=" + os.Getenv("PROCESS_LEAVE")}}
	if s.Mark != "" {
		s.Env = append(s.Env, s.Mark)
	}
	t, err := StartTree(s)
	if err != nil {
		say.Encode(kept{Error: err.Error()})
		return
	}
	say.Encode(kept{Remains: t.Remains()})
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var k kept
		switch in.Text() {
		case "end":
			k.Facts, k.Left = t.End(10 * time.Second)
			t.Signal(syscall.SIGKILL) // must hit nobody
		case "end at once":
			k.Facts, k.Left = t.End(0)
		case "exited":
			<-t.Exited()
			k.Alone = t.Alone()
		case "term leavers":
			for !t.Alone() {
				t.SignalLeavers(syscall.SIGTERM)
				time.Sleep(time.Millisecond)
			}
			k.Alone = true
		default:
			k.Error = errors.ErrUnsupported.Error()
		}
		say.Encode(k)
	}
}
