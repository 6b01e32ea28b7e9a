// The program work is what test pods run: it takes memory and a given amount of CPU
// time, however long that lasts, sleeps, and writes down when it did so, since
// Kubernetes reports a container's times in whole seconds.
//
//	work [-cpu 5s [-share 0.25]] [-memory 64Mi [-grow 10s]] [-sleep 3s] [-exit 0]
//	work -cpu 5ms -serve :9000
//	work pause
//
// As a server it takes the CPU time for each byte that it is sent and returns the
// byte, a connection's bytes in turn, until it gets a signal to end.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
)

// note is where a container leaves its last words, which the pod's status shows.
const note = "/dev/termination-log"

func main() {
	if len(os.Args) == 2 && os.Args[1] == "pause" {
		pause()
		return
	}
	began := time.Now()
	cpu := flag.Duration("cpu", 0, "the CPU time to take")
	share := fraction(1)
	flag.Var(&share, "share", "the share of a core to take while taking the CPU time, above 0 and at most 1")
	var memory bytes
	flag.Var(&memory, "memory", "the memory to take, as in 64Mi, before anything else")
	grow := flag.Duration("grow", 0, "how long taking it lasts")
	sleep := flag.Duration("sleep", 0, "how long to sleep in the end")
	exit := flag.Int("exit", 0, "the exit code")
	serve := flag.String("serve", "", "the address to serve at")
	flag.Parse()
	if *serve != "" {
		fmt.Fprintln(os.Stderr, "work:", server(*serve, *cpu))
		os.Exit(1)
	}
	held := take(int(memory), *grow)
	burnAt(float64(share), *cpu)
	time.Sleep(*sleep)
	last := struct {
		Began, Ended time.Time
		CPU          time.Duration
		Memory       int
	}{began, time.Now(), used(syscall.RUSAGE_SELF), len(held)}
	if text, err := json.Marshal(last); err == nil {
		_ = os.WriteFile(note, text, 0o644) // outside a container there is no such file, and no reader
	}
	os.Exit(*exit)
}

// take allocates memory and writes to each page of it, evenly over a time.
func take(size int, over time.Duration) []byte {
	held := make([]byte, size)
	page := os.Getpagesize()
	begin := time.Now()
	for i := 0; i < size; i += page {
		held[i] = 1
		if i%(1<<20) == 0 {
			time.Sleep(time.Until(begin.Add(time.Duration(float64(over) * float64(i) / float64(size)))))
		}
	}
	return held
}

// server answers at an address, each byte after so much CPU time.
func server(address string, each time.Duration) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go answer(c, each)
	}
}

// rusageThread is RUSAGE_THREAD, which package syscall does not name.
const rusageThread = 1

// answer serves one connection on a thread of its own, whose CPU time is its alone.
func answer(c net.Conn, each time.Duration) {
	defer c.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	request := make([]byte, 1)
	for {
		if _, err := c.Read(request); err != nil {
			return
		}
		burn(used(rusageThread)+each, rusageThread)
		if _, err := c.Write(request); err != nil {
			return
		}
	}
}

// burn returns when this process, or thread, has used so much CPU time.
func burn(until time.Duration, who int) {
	x := uint64(1)
	for used(who) < until {
		for range 100_000 {
			x = x*6364136223846793005 + 1442695040888963407
		}
	}
	sink.Store(x)
}

// burnAt returns when this process has used so much CPU time, and pauses every 50 ms of it so that it
// uses at most a share of a core.
func burnAt(share float64, until time.Duration) {
	const slice = 50 * time.Millisecond
	for share < 1 && used(syscall.RUSAGE_SELF) < until {
		begin, before := time.Now(), used(syscall.RUSAGE_SELF)
		burn(min(before+slice, until), syscall.RUSAGE_SELF)
		taken := used(syscall.RUSAGE_SELF) - before
		time.Sleep(time.Duration(float64(taken)/share) - time.Since(begin))
	}
	burn(until, syscall.RUSAGE_SELF)
}

// sink keeps the compiler from leaving the work out.
var sink atomic.Uint64

// used is the CPU time that this process, or thread, has taken.
func used(who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// pause holds a pod's namespaces until it gets a signal to end, and reaps orphans.
func pause() {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD)
	for s := range signals {
		if s != syscall.SIGCHLD {
			return
		}
		for {
			if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); pid <= 0 || err != nil {
				break
			}
		}
	}
}

// fraction is above 0 and at most 1, as a flag.
type fraction float64

func (f *fraction) String() string { return strconv.FormatFloat(float64(*f), 'g', -1, 64) }

func (f *fraction) Set(text string) error {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || !(v > 0 && v <= 1) {
		return errors.New("must be a number above 0, at most 1")
	}
	*f = fraction(v)
	return nil
}

// bytes is an amount of memory, as a flag.
type bytes int

func (b *bytes) String() string { return strconv.Itoa(int(*b)) }

func (b *bytes) Set(text string) error {
	shift := 0
	for i, unit := range []string{"Ki", "Mi", "Gi"} {
		if rest, ok := strings.CutSuffix(text, unit); ok {
			text, shift = rest, 10*(i+1)
		}
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return fmt.Errorf("not an amount of memory: %w", err)
	}
	*b = bytes(n << shift)
	return nil
}
