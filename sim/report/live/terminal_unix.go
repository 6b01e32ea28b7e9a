//go:build unix

package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Terminal is one that keys are read from and that is drawn on. It shows one view at a
// time.
type Terminal struct {
	in, out *os.File
	size    func() (width, height int)
	// before is how the terminal was set, nil while it is so.
	before *term.State
}

// Open returns the terminal that in and out are, or false if one of them is none.
func Open(in io.Reader, out io.Writer) (*Terminal, bool) {
	keys, ok := in.(*os.File)
	size := terminalSize(out)
	if !ok || size == nil || !term.IsTerminal(int(keys.Fd())) {
		return nil, false
	}
	return &Terminal{in: keys, out: out.(*os.File), size: size}, true
}

// Run shows what c says until the reader quits or ctx ends, neither of which is an error.
// Errors are *field.Error and ErrLost, wrapped. The terminal is then as it was. After ErrLost
// the process hears no SIGHUP any more, which may come later than the loss shows: who was
// told ends in its own way.
func (t *Terminal) Run(ctx context.Context, c Config) (err error) {
	if err := c.Validate(); err != nil {
		return err
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, unix.SIGWINCH, unix.SIGCONT, unix.SIGHUP)
	defer func() {
		if errors.Is(err, ErrLost) {
			signal.Notify(make(chan os.Signal, 1), unix.SIGHUP) // nobody reads it
		}
		signal.Stop(signals)
	}()
	defer func() { err = errors.Join(err, t.giveBack()) }()
	if err := t.take(); err != nil {
		return err
	}
	reader, err := newReader(t.in)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	v := &view{terminal: t, config: c, answers: make(chan func()), wanted: make(chan opened, 1)}
	var tasks sync.WaitGroup
	tasks.Go(func() { reader.run(ctx) })
	tasks.Go(func() { v.ask(ctx) })
	tasks.Go(func() { v.look(ctx) })
	err = v.run(ctx, reader.chunks, signals)
	cancel()
	reader.stop()
	tasks.Wait()
	return err
}

// take makes the terminal ours.
func (t *Terminal) take() error {
	before, err := term.MakeRaw(int(t.in.Fd()))
	if err != nil {
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	t.before = before
	return t.write(enter)
}

// giveBack makes it as it was. What can't be told to a terminal that is gone is not
// missed.
func (t *Terminal) giveBack() error {
	if t.before == nil {
		return nil
	}
	err := errors.Join(t.write(leave), term.Restore(int(t.in.Fd()), t.before))
	t.before = nil
	if errors.Is(err, unix.EIO) || errors.Is(err, ErrLost) {
		return nil
	}
	return err
}

// stop gives the terminal back and has the process stand still until it is continued.
func (t *Terminal) stop() error {
	if err := t.giveBack(); err != nil {
		return err
	}
	return unix.Kill(0, unix.SIGTSTP)
}

// stops says whether somebody could continue a process that stands still: a session's first
// group of processes, as of a program that ssh or a container runs, has no shell above it,
// and the kernel does not stop it.
func stops() bool {
	session, err := unix.Getsid(0)
	return err == nil && session != unix.Getpgrp()
}

// again takes the terminal, which others may have had.
func (t *Terminal) again() error {
	if err := t.giveBack(); err != nil {
		return err
	}
	return t.take()
}

func (t *Terminal) write(text string) error {
	if _, err := io.WriteString(t.out, text); err != nil {
		return fmt.Errorf("%w: %w", ErrLost, err)
	}
	return nil
}

// reader reads what a terminal sends, and can be stopped while nothing comes.
type reader struct {
	from *os.File
	// woken is readable once the reader is to stop.
	woken, wake *os.File
	// chunks is closed when the terminal is gone.
	chunks chan []byte
}

func newReader(from *os.File) (*reader, error) {
	woken, wake, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &reader{from: from, woken: woken, wake: wake, chunks: make(chan []byte)}, nil
}

// stop ends run, which has to have returned or to be running.
func (r *reader) stop() { _ = r.wake.Close() }

func (r *reader) run(ctx context.Context) {
	defer close(r.chunks)
	defer r.woken.Close()
	p := make([]byte, 256)
	for r.wait() {
		n, err := r.from.Read(p)
		if err != nil || n == 0 {
			return
		}
		select {
		case r.chunks <- append([]byte(nil), p[:n]...):
		case <-ctx.Done():
			return
		}
	}
}

// wait returns once something can be read, or false once the reader is to stop.
func (r *reader) wait() bool {
	in, woken := int(r.from.Fd()), int(r.woken.Fd())
	for {
		var ready unix.FdSet
		ready.Zero()
		ready.Set(in)
		ready.Set(woken)
		_, err := unix.Select(max(in, woken)+1, &ready, nil, nil, nil)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		return err == nil && !ready.IsSet(woken)
	}
}
