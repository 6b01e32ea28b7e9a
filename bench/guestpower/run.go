package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spazio-scheduler/spazio/bench/internal/process"
	"github.com/spazio-scheduler/spazio/bench/internal/program"
	"github.com/spazio-scheduler/spazio/bench/internal/rapl"
	"github.com/spazio-scheduler/spazio/energy/share"
	"github.com/spazio-scheduler/spazio/energy/share/fakeguest"
)

// run measures each number of guests. What it started has ended when it returns, and its
// directory is gone.
func run(ctx context.Context, o options, progress io.Writer) (r result, err error) {
	dir, err := os.MkdirTemp(memory(), fmt.Sprintf("spazio-guestpower-%d-", os.Getpid()))
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if o.power == "" {
		if o.power, err = program.Build(ctx, "spazio-power", dir, progress); err != nil {
			return r, err
		}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	machine, err := rapl.New(filepath.Join(dir, "sys"))
	if err != nil {
		return r, err
	}
	counted := make(chan error, 1)
	go func() { counted <- machine.Run(ctx) }()
	defer func() {
		stop()
		err = errors.Join(err, <-counted)
	}()
	for _, n := range o.counts {
		fmt.Fprintf(progress, "%d guests for %v\n", n, o.duration)
		row, err := measure(ctx, o, dir, n)
		if err != nil {
			return r, fmt.Errorf("%d guests: %w", n, err)
		}
		r.Guests = append(r.Guests, row)
	}
	return r, nil
}

// memory is a directory on tmpfs, or "" for where temporary files usually are.
func memory() string {
	const shm = "/dev/shm"
	if about, err := os.Stat(shm); err == nil && about.IsDir() {
		return shm
	}
	return ""
}

// measure watches so many guests.
func measure(ctx context.Context, o options, dir string, n int) (row, error) {
	var names []string
	for i := range n {
		name := fmt.Sprintf("vm%d", i+1)
		guest, err := fakeguest.Start(ctx, name, 1)
		if err != nil {
			return row{}, err
		}
		defer guest.Stop()
		if err := guest.Set(o.cores / float64(n)); err != nil {
			return row{}, err
		}
		names = append(names, name)
	}
	power := exec.CommandContext(ctx, o.power, "--guests", "process", "--energy", "powercap", "--listen", "",
		"--dir", filepath.Join(dir, "power"), "--sys-root", filepath.Join(dir, "sys"))
	power.Stderr = os.Stderr
	power.Cancel = func() error { return power.Process.Signal(os.Interrupt) }
	if err := power.Start(); err != nil {
		return row{}, err
	}
	defer func() {
		_ = power.Process.Signal(os.Interrupt)
		_ = power.Wait() // being interrupted is no error
	}()
	w := newWatch(filepath.Join(dir, "power"), names)
	if err := w.begin(ctx); err != nil {
		return row{}, err
	}
	before, err := process.CPU(power.Process.Pid)
	if err != nil {
		return row{}, err
	}
	began := time.Now()
	if err := w.pass(ctx, o.duration); err != nil {
		return row{}, err
	}
	cpu, err := process.CPU(power.Process.Pid)
	if err != nil {
		return row{}, err
	}
	_, peak, err := process.Memory(power.Process.Pid)
	if err != nil {
		return row{}, err
	}
	found, err := w.row()
	found.Millicores = 1000 * (cpu - before).Seconds() / time.Since(began).Seconds()
	found.PeakMiB = peak
	return found, err
}

// watch follows the trees of guests.
type watch struct {
	files []string
	last  []stamp
	apart []time.Duration // of two publications of a guest
	sum   []time.Duration // of each guest
	n     []int
	late  time.Duration // the most between a sample and its publication
}

// stamp is when energy was sampled, and when it was published.
type stamp struct{ sampled, published time.Time }

func newWatch(dir string, guests []string) *watch {
	w := &watch{last: make([]stamp, len(guests)), sum: make([]time.Duration, len(guests)), n: make([]int, len(guests))}
	for _, name := range guests {
		w.files = append(w.files, filepath.Join(dir, name, "class/powercap/intel-rapl:0/energy_uj"))
	}
	return w
}

const (
	// look is the time between two looks, of which a publication lasts some.
	look = 200 * time.Millisecond
	// patience is how long a guest may be without a tree.
	patience = time.Minute
)

// begin returns once all guests have been published twice.
func (w *watch) begin(ctx context.Context) error {
	for began := time.Now(); ; {
		if err := w.pass(ctx, look); err != nil {
			return err
		}
		all := true
		for _, n := range w.n {
			all = all && n > 0
		}
		if all {
			w.apart, w.late = w.apart[:0], 0
			clear(w.sum)
			clear(w.n)
			return nil
		}
		if time.Since(began) > patience {
			return fmt.Errorf("not all of %d guests are published after %v", len(w.n), patience)
		}
	}
}

// pass looks for so long.
func (w *watch) pass(ctx context.Context, d time.Duration) error {
	for began := time.Now(); time.Since(began) < d; {
		if err := program.Sleep(ctx, look); err != nil {
			return err
		}
		for i, path := range w.files {
			s, err := published(path)
			if errors.Is(err, os.ErrNotExist) {
				continue
			}
			if err != nil {
				return err
			}
			w.see(i, s)
		}
	}
	return nil
}

// see takes what a file shows.
func (w *watch) see(i int, s stamp) {
	last := w.last[i]
	if s == last || s.sampled.Equal(last.sampled) {
		return
	}
	w.last[i] = s
	if last.sampled.IsZero() {
		return
	}
	apart := s.published.Sub(last.published)
	w.apart = append(w.apart, apart)
	w.sum[i] += apart
	w.n[i]++
	w.late = max(w.late, s.published.Sub(s.sampled))
}

// barPeriod is that of spazio-power.
const barPeriod = share.MinPeriod
