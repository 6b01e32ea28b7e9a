//go:build unix

package live

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// answer is that of Ask, told that of Detail.
type answer struct {
	frame Frame
	err   error
	at    time.Time
}

type told struct {
	opened
	words string
}

// opened is a row that a reader has opened.
type opened struct {
	sheet int
	row   string
}

// view is one that runs.
type view struct {
	terminal *Terminal
	config   Config
	model    Model
	painter  Painter
	keys     Decoder
	answers  chan answer
	details  chan told
	// wanted is the row whose detail is to be looked for, the newest alone.
	wanted chan opened
}

// escapeWait is how long the rest of a key may take that begins with an escape: more than
// between two bytes of a line, less than a person waits for.
const escapeWait = 50 * time.Millisecond

// run draws and takes keys until the reader quits, ctx ends or the terminal is gone.
func (v *view) run(ctx context.Context, chunks <-chan []byte, signals <-chan os.Signal) error {
	v.model.Resize(v.terminal.size())
	pending := time.NewTimer(escapeWait)
	defer pending.Stop()
	for {
		if err := v.draw(); err != nil {
			return err
		}
		action := Nothing
		select {
		case <-ctx.Done():
			return nil
		case a := <-v.answers:
			v.take(a)
		case d := <-v.details:
			v.model.Tell(d.sheet, d.row, d.words)
		case p, ok := <-chunks:
			if !ok {
				return ErrLost
			}
			action = v.press(v.keys.Feed(p))
			pending.Reset(escapeWait)
		case <-pending.C:
			action = v.press(v.keys.Flush())
		case s := <-signals:
			if err := v.signalled(s); err != nil {
				return err
			}
		}
		switch action {
		case Quit:
			return nil
		case Stop:
			if err := v.terminal.stop(); err != nil {
				return err
			}
		}
	}
}

func (v *view) draw() error {
	text := v.painter.Paint(v.model.Lines())
	if text == "" || v.terminal.before == nil {
		return nil
	}
	return v.terminal.write(text)
}

// take shows an answer, and has the open row looked at again.
func (v *view) take(a answer) {
	if a.err != nil {
		v.model.Away(a.err, a.at)
		return
	}
	v.model.Show(a.frame, a.at)
	v.want()
}

// press takes keys up to the first that ends the view or stops it.
func (v *view) press(keys []Key) Action {
	for _, k := range keys {
		switch action := v.model.Press(k); action {
		case Nothing:
		case Look:
			v.want()
		case Redraw:
			v.painter.Forget()
		case Stop:
			if stops() {
				return Stop
			}
		default:
			return action
		}
	}
	return Nothing
}

// want has the open row looked at, and none besides.
func (v *view) want() {
	select {
	case <-v.wanted:
	default:
	}
	if sheet, row, ok := v.model.Opened(); ok {
		v.wanted <- opened{sheet, row}
	}
}

func (v *view) signalled(s os.Signal) error {
	switch s {
	case unix.SIGHUP:
		return ErrLost
	case unix.SIGCONT:
		if err := v.terminal.again(); err != nil {
			return err
		}
	}
	v.model.Resize(v.terminal.size())
	v.painter.Forget()
	return nil
}

// ask asks again and again until ctx ends.
func (v *view) ask(ctx context.Context) {
	for {
		frame, err := v.config.Ask(ctx)
		select {
		case v.answers <- answer{frame, err, time.Now()}:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(cmp.Or(v.config.Period, period)):
		case <-ctx.Done():
			return
		}
	}
}

// look looks at rows as they are wanted until ctx ends.
func (v *view) look(ctx context.Context) {
	for {
		var d told
		select {
		case d.opened = <-v.wanted:
		case <-ctx.Done():
			return
		}
		d.words = "nothing is told of " + d.row
		if v.config.Detail != nil {
			words, err := v.config.Detail(ctx, d.sheet, d.row)
			if d.words = words; err != nil {
				d.words = fmt.Sprint(err)
			}
		}
		select {
		case v.details <- d:
		case <-ctx.Done():
			return
		}
	}
}
