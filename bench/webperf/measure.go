package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spazio-scheduler/spazio/bench/internal/process"
	"github.com/spazio-scheduler/spazio/bench/internal/program"
)

// measure runs this program as a server and reads from it.
func measure(ctx context.Context, o options) (r result, err error) {
	self, err := os.Executable()
	if err != nil {
		return result{}, err
	}
	server := exec.CommandContext(ctx, self, "serve", fmt.Sprint("--nodes=", o.nodes), fmt.Sprint("--changing=", o.changing))
	server.Cancel = func() error { return server.Process.Signal(syscall.SIGTERM) }
	server.WaitDelay = 5 * time.Second
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err != nil {
		return result{}, err
	}
	if err := server.Start(); err != nil {
		return result{}, err
	}
	defer func() {
		_ = server.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = server.Wait()
	}()
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return result{}, fmt.Errorf("the server has not said where it is: %w", err)
	}
	r = result{Nodes: o.nodes, Readers: o.readers, Changing: o.changing}
	if r.Idle, err = share(ctx, server.Process.Pid, o.duration); err != nil {
		return r, err
	}
	sizes, taken, err := look(ctx, "http://"+strings.TrimSpace(address), server.Process.Pid, o)
	if err != nil {
		return r, err
	}
	r.Share, r.Frames, r.First = taken, len(sizes), sizes[0]
	for _, size := range sizes[1:] {
		r.Mean += float64(size) / float64(len(sizes)-1)
		r.Largest = max(r.Largest, size)
	}
	return r, nil
}

// share is what a process takes of a core over some time.
func share(ctx context.Context, pid int, of time.Duration) (float64, error) {
	before, err := process.CPU(pid)
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	if err := program.Sleep(ctx, of); err != nil {
		return 0, err
	}
	after, err := process.CPU(pid)
	return (after - before).Seconds() / time.Since(begun).Seconds(), err
}

// look has readers follow the page, and returns the sizes of the first one's frames and the
// share that the server took meanwhile, the first frame's included.
func look(ctx context.Context, address string, pid int, o options) (sizes []int, taken float64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var readers sync.WaitGroup
	var mu sync.Mutex
	var failed error
	for i := range o.readers {
		readers.Go(func() {
			err := follow(ctx, address, func(size int) {
				mu.Lock()
				defer mu.Unlock()
				if i == 0 {
					sizes = append(sizes, size)
				}
			})
			mu.Lock()
			defer mu.Unlock()
			if ctx.Err() == nil {
				failed = errors.Join(failed, err)
			}
		})
	}
	taken, err = share(ctx, pid, o.duration)
	cancel()
	readers.Wait()
	if err == nil {
		err = failed
	}
	if err == nil && len(sizes) < 2 {
		err = fmt.Errorf("%d frames in %v", len(sizes), o.duration)
	}
	return sizes, taken, err
}

// lastLine ends the event that ends a frame.
var lastLine = []byte("\"last\":true}\n")

// follow reads events and tells the size of each frame, until there are no more: it returns
// why.
func follow(ctx context.Context, address string, told func(size int)) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/events", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", request.URL, answer.Status)
	}
	in := bufio.NewReader(answer.Body)
	for size := 0; ; {
		line, err := in.ReadBytes('\n')
		if ctx.Err() != nil { // the server may end with it, and sooner be heard of
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		size += len(line)
		if bytes.HasSuffix(line, lastLine) {
			told(size + len("\n"))
			size = -len("\n") // that which ends the event is still to come
		}
	}
}
