//go:build linux

package shim

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"assay/internal/durable"
)

// The test binary plays the shim, the harnesses and the server: SHIM_ROLE says which.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "shim" {
		os.Exit(recorded(os.Args[2]))
	}
	role := os.Getenv("SHIM_ROLE")
	if role == "" {
		os.Exit(m.Run())
	}
	play, ok := roles()[role]
	if !ok {
		panic("no such role: " + role)
	}
	play()
}

// stepsFile makes a shim note there in which order it makes files durable, where a test has made it.
const stepsFile = "steps"

// recorded is Main with its steps noted.
func recorded(dir string) int {
	steps, err := os.OpenFile(filepath.Join(dir, stepsFile), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return Main(dir)
	}
	unix.CloseOnExec(int(steps.Fd()))
	return mainOn(durable.Disk{
		Sync: func(f *os.File) error {
			err := f.Sync()
			fmt.Fprintln(steps, "sync", filepath.Base(f.Name()), err)
			return err
		},
		Rename: func(from, to string) error {
			err := os.Rename(from, to)
			fmt.Fprintln(steps, "rename", filepath.Base(to), err)
			return err
		},
	}, dir)
}

func roles() map[string]func() {
	return map[string]func(){
		"silent":   block,
		"sleeper":  func() { say("pids", os.Getpid()); block() },
		"polite":   polite,
		"wild":     func() { wild(); block() },
		"leaver":   func() { wild(); os.Exit(7) },
		"stubborn": func() { signal.Ignore(syscall.SIGTERM); block() },
		"daemonizer": func() {
			fmt.Fprintln(os.NewFile(3, "tell"), spawn("stubborn", false, nil))
		},
		"polite-daemonizer": func() {
			fmt.Fprintln(os.NewFile(3, "tell"), spawnTelling("polite-daemon", true))
			block()
		},
		"polite-daemon": func() {
			terms := make(chan os.Signal, 1)
			signal.Notify(terms, syscall.SIGTERM)
			fmt.Fprintln(os.NewFile(3, "tell"), os.Getpid())
			<-terms
			say("the daemon ends")
		},
		"polite-leaver": func() { // ends at TERM, as its daemon does when it is told
			daemon := spawnTelling("polite-daemonizer", false)
			say("pids", append(daemon, os.Getpid())...)
			block()
		},
		"middle": func() {
			signal.Ignore(syscall.SIGTERM)
			fmt.Fprintln(os.NewFile(3, "tell"), os.Getpid(), spawn("stubborn", true, nil))
			block()
		},
		"locker": func() {
			say("pids", append(spawnTelling("lock-holder", true), os.Getpid())...)
			block()
		},
		"lock-holder": func() {
			lock, err := os.OpenFile(filepath.Join(filepath.Dir(os.Getenv("ASSAY_REPORT")), lockFile), os.O_RDWR, 0)
			if err != nil {
				panic(err)
			}
			fmt.Fprintln(os.NewFile(3, "tell"), os.Getpid())
			unix.Flock(int(lock.Fd()), unix.LOCK_EX) // once the shim is dead
			block()
		},
		"gusher": func() { // does not end at TERM, and prints more than a log whose disk hangs takes
			signal.Ignore(syscall.SIGTERM)
			io.Copy(os.Stdout, io.LimitReader(zeros{}, 4<<20))
			block()
		},
		"signalled": func() { syscall.Kill(os.Getpid(), syscall.SIGKILL); block() },
		"waiter":    func() { say("before", os.Getpid()); wait(); say("after"); os.Exit(5) },
		"splitter":  splitter,
		"imitator":  imitator,
		"reporter":  reporter,
		"flooder":   flooder,
		"chatty":    chatty,
		"chatter":   chatter,
		"state":     state,
		"server":    server,
		"argv":      func() { fmt.Println(os.Args[1:], os.Getenv("TOKEN")) },
		"hello":     func() { fmt.Println("hello"); block() },
	}
}

// zeros are without end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func block() { <-time.After(time.Hour) }

func say(what string, pids ...int) {
	fmt.Println(strings.TrimSpace(what + " " + strings.Trim(fmt.Sprint(pids), "[]")))
}

// wait returns when somebody opens and closes the FIFO of SHIM_GO.
func wait() {
	f, err := os.Open(os.Getenv("SHIM_GO"))
	if err != nil {
		panic(err)
	}
	io.Copy(io.Discard, f)
}

// spawn starts this binary in a role. Without env it has that of this process.
func spawn(role string, session bool, env []string, extra ...*os.File) int {
	if env == nil {
		os.Setenv("SHIM_ROLE", role)
		env = os.Environ()
	}
	p, err := os.StartProcess("/proc/self/exe", os.Args[:1], &os.ProcAttr{Env: env,
		Files: append([]*os.File{nil, os.Stdout, os.Stderr}, extra...), Sys: &syscall.SysProcAttr{Setsid: session}})
	if err != nil {
		panic(err)
	}
	go p.Wait()
	return p.Pid
}

// spawnTelling starts a role that says on descriptor 3 who there is.
func spawnTelling(role string, session bool) (pids []int) {
	r, w, err := os.Pipe()
	if err != nil {
		panic(err)
	}
	spawn(role, session, nil, w)
	w.Close()
	line, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		panic(err)
	}
	return numbers(line)
}

func numbers(line string) (list []int) {
	for _, f := range strings.Fields(strings.Trim(line, "[]\n")) {
		if n, err := strconv.Atoi(f); err == nil {
			list = append(list, n)
		}
	}
	return list
}

// wild ignores TERM and starts every kind of descendant, each with its standard output: a child, one with a
// child in a session of its own, a daemon, and one that threw its environment away.
func wild() {
	signal.Ignore(syscall.SIGTERM)
	pids := []int{os.Getpid(), spawn("stubborn", false, nil)}
	pids = append(pids, spawnTelling("middle", false)...)
	pids = append(pids, spawnTelling("daemonizer", true)...)
	pids = append(pids, spawn("stubborn", true, []string{"SHIM_ROLE=stubborn"}))
	say("pids", pids...)
}

func polite() {
	terms := make(chan os.Signal, 1)
	signal.Notify(terms, syscall.SIGTERM)
	say("pids", os.Getpid())
	<-terms
	say("bye")
	os.Exit(3)
}

// parts writes pieces of which each is read before the next is written.
func parts(f *os.File, pieces ...string) {
	for _, p := range pieces {
		f.WriteString(p)
		for {
			if n, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCINQ); err != nil || n == 0 {
				break
			}
			runtime.Gosched()
		}
	}
}

func splitter() {
	token := os.Getenv("TOKEN")
	parts(os.Stdout, "a ", token[:5], token[5:], " b\n", "\xe2", "\x82", "\xac\n", "\x1b[3", "1mred\x1b", "[0m\n", "https://example.org/", token[:5], token[5:], "\nhttps://example.org/", token[:5])
	report := os.NewFile(3, "report")
	parts(report, "link https://example.org/?key="+token[:5], token[5:]+" x"+token+"\n")
}

func imitator() {
	fmt.Print("progress 9/10 nearly\nmetric accuracy 0.99\nlink https://evil.example/ x\n{\"n\":1,\"metric\":{\"name\":\"a\",\"value\":1}}\n 40%|####      | 4/10 [00:01]\n")
	fmt.Fprint(os.Stderr, "metric accuracy 0.98\n")
}

func reporter() {
	f := os.NewFile(3, "report")
	fmt.Fprint(f, "progress 1/4 begun\n", "what is this\n", "progress many\n", strings.Repeat("x", 10<<10), "\n", "metric loss 0.5\n")
	f.Close()
	again, err := os.OpenFile(os.Getenv("ASSAY_REPORT"), os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	fmt.Fprint(again, "link https://example.org/1 first\n")
	again.Close()
	again, _ = os.OpenFile(os.Getenv("ASSAY_REPORT"), os.O_WRONLY, 0)
	fmt.Fprint(again, "progress 4/4") // without an end
}

// flooder reports in a loop.
func flooder() {
	f := bufio.NewWriter(os.NewFile(3, "report"))
	for i := range 50_000 {
		fmt.Fprintf(f, "progress %d/50000\nmetric m%d %d\nlink https://example.org/\n", i+1, i%3, i)
	}
	f.Flush()
}

// chatty prints SHIM_LINES numbered lines.
func chatty() {
	n, _ := strconv.Atoi(os.Getenv("SHIM_LINES"))
	w := bufio.NewWriter(os.Stdout)
	for i := range n {
		fmt.Fprintf(w, "line %d\n", i)
	}
	w.Flush()
}

// chatter prints 100,000 lines of 100 bytes a second for SHIM_SECONDS, one write a line, and then the
// milliseconds of processor time that it took.
func chatter() {
	seconds, _ := strconv.Atoi(os.Getenv("SHIM_SECONDS"))
	line := []byte(strings.Repeat("x", 99) + "\n")
	for begin, n := time.Now(), 0; n < 100_000*seconds; {
		for due := min(int(time.Since(begin).Seconds()*100_000), 100_000*seconds); n < due; n++ {
			os.Stdout.Write(line)
		}
		unix.Nanosleep(&unix.Timespec{Nsec: 500_000}, nil)
	}
	var used unix.Rusage
	unix.Getrusage(unix.RUSAGE_SELF, &used)
	fmt.Println("used", (used.Utime.Nano()+used.Stime.Nano())/1e6)
}

// state says what a harness inherits.
func state() {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		if strings.HasPrefix(line, "SigIgn") || strings.HasPrefix(line, "SigBlk") {
			fmt.Print(line)
		}
	}
	for fd := range 20 {
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err == nil {
			to, _ := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", fd))
			fmt.Println("fd", fd, flags&unix.O_NONBLOCK != 0, to)
		}
	}
	fmt.Println("env", strings.Join(os.Environ(), "|"))
}

// server launches what SHIM_ORDER says, and stays.
func server() {
	var o Order
	if err := json.Unmarshal([]byte(os.Getenv("SHIM_ORDER")), &o); err != nil {
		panic(err)
	}
	if os.Getenv("SHIM_IGNORING") != "" {
		signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGPIPE)
	}
	if err := Launch("/proc/self/exe", os.Getenv("SHIM_DIR"), o); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("launched")
	block()
}
