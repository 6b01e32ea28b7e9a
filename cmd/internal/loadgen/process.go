package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// aggregator is the process that is measured.
type aggregator struct {
	process       *exec.Cmd
	grpc, metrics string
}

var listening = regexp.MustCompile(`aggregator is listening" grpc=(\S+) metrics=(\S+)`)

// startAggregator returns once it listens. It ends with ctx or stop.
func startAggregator(ctx context.Context) (*aggregator, error) {
	binary, err := os.Executable()
	if err != nil {
		return nil, err
	}
	a := &aggregator{process: exec.CommandContext(ctx, binary, "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0")}
	a.process.Env = append(os.Environ(), asServer+"=1")
	if _, err := a.process.StdinPipe(); err != nil {
		return nil, err
	}
	stderr, err := a.process.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := a.process.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(stderr)
	line, err := lines.ReadString('\n')
	found := listening.FindStringSubmatch(line)
	if found == nil {
		a.stop()
		return nil, fmt.Errorf("the aggregator began with %q: %w", line, err)
	}
	go func() { _, _ = io.Copy(io.Discard, lines) }() // ends with the process
	a.grpc, a.metrics = found[1], found[2]
	return a, nil
}

func (a *aggregator) stop() {
	_ = a.process.Process.Kill()
	_ = a.process.Wait()
}

// clockTick is USER_HZ, which /proc counts in; Linux fixes it at 100 for all
// programs.
const clockTick = 10 * time.Millisecond

// cpuTime is the user and system time of a process so far.
func cpuTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The command's name may hold spaces; the fields are counted after it.
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	if len(fields) < 13 {
		return 0, fmt.Errorf("/proc/%d/stat: %d fields", pid, len(fields))
	}
	user, err := strconv.ParseInt(fields[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[12], 10, 64)
	if err != nil {
		return 0, err
	}
	return time.Duration(user+system) * clockTick, nil
}
