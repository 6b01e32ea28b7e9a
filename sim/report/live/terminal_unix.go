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
// The error is a *field.Error, or that the terminal is gone. The terminal is then as it was. If it is
// gone, the process ignores SIGHUP from then on, since the signal may come after Run has returned and
// would end the caller before it can report the error.
func (t *Terminal) Run(ctx context.Context, c Config) (err error) {
	if err := c.validate(); err != nil {
		return err
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, unix.SIGWINCH, unix.SIGCONT, unix.SIGHUP)
	defer func() {
		if errors.Is(err, errLost) {
			signal.Notify(make(chan os.Signal, 1), unix.SIGHUP) // never read
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
		return fmt.Errorf("%w: %w", errLost, err)
	}
	t.before = before
	return t.write(enter)
}

// giveBack restores the terminal. Errors of a terminal that is gone are ignored.
func (t *Terminal) giveBack() error {
	if t.before == nil {
		return nil
	}
	err := errors.Join(t.write(leave), term.Restore(int(t.in.Fd()), t.before))
	t.before = nil
	if errors.Is(err, unix.EIO) || errors.Is(err, errLost) {
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

// stops reports whether a stopped process could be continued. The first process group of a session, as
// of a program that ssh or a container runs, has no shell above it, and the kernel does not stop it.
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
		return fmt.Errorf("%w: %w", errLost, err)
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
