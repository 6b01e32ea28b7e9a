package burn

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"
)

// Load is what a child does. A zero field means none of it.
type Load struct {
	// CPU is the CPU time of the process, in one thread.
	CPU time.Duration
	// Memory in bytes, held until the end.
	Memory int64
}

// Run takes the memory, burns the CPU time and returns, early if ctx ends. It
// writes one line to ready once it begins to burn.
func Run(ctx context.Context, load Load, ready io.Writer) error {
	switch {
	case load.CPU < 0:
		return refuse("CPU", load.CPU, "at least 0")
	case load.Memory < 0:
		return refuse("Memory", load.Memory, "at least 0")
	}
	runtime.GOMAXPROCS(1)
	held := hold(load.Memory)
	defer runtime.KeepAlive(held)
	start, err := cpuTime()
	if err != nil {
		return fmt.Errorf("burn: read the CPU time: %w", err)
	}
	if _, err := fmt.Fprintln(ready, "burning"); err != nil {
		return fmt.Errorf("burn: %w", err)
	}
	for ctx.Err() == nil {
		spin()
		now, err := cpuTime()
		if err != nil {
			return fmt.Errorf("burn: read the CPU time: %w", err)
		}
		if now-start >= load.CPU {
			return nil
		}
	}
	return ctx.Err()
}

// hold allocates n bytes and writes to each page, so that they are resident.
func hold(n int64) []byte {
	block := make([]byte, n)
	for i := 0; i < len(block); i += os.Getpagesize() {
		block[i] = 1
	}
	return block
}

// sink keeps the compiler from dropping the work.
var sink uint64

// spin computes for about a millisecond.
func spin() {
	x := sink + 1
	for range 1 << 20 {
		x = x*6364136223846793005 + 1442695040888963407
	}
	sink = x
}

// WithParent returns a context that ends when in is closed, as a child's
// standard input is when its parent dies.
func WithParent(ctx context.Context, in io.Reader) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, in)
		cancel()
	}()
	return ctx
}
