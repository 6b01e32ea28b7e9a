//go:build unix

package live

import (
	"cmp"
	"context"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// opened is a row that a reader has opened.
type opened struct {
	sheet int
	row   string
}

// view is one that runs.
type view struct {
	terminal *Terminal
	config   Config
	model    model
	painter  painter
	keys     decoder
	// answers are what is to be done with those of Ask and Detail, by the goroutine of run.
	answers chan func()
	// wanted is the row whose detail is to be looked for, the newest alone.
	wanted chan opened
}

// escapeWait is how long the rest of a key may take that begins with an escape: more than
// between two bytes of a line, less than a person waits for.
const escapeWait = 50 * time.Millisecond

// run draws and takes keys until the reader quits, ctx ends or the terminal is gone.
func (v *view) run(ctx context.Context, chunks <-chan []byte, signals <-chan os.Signal) error {
	v.model.resize(v.terminal.size())
	pending := time.NewTimer(escapeWait)
	defer pending.Stop()
	for {
		if err := v.draw(); err != nil {
			return err
		}
		action := actionNone
		select {
		case <-ctx.Done():
			return nil
		case take := <-v.answers:
			take()
		case p, ok := <-chunks:
			if !ok {
				return errLost
			}
			action = v.press(v.keys.feed(p))
			pending.Reset(escapeWait)
		case <-pending.C:
			action = v.press(v.keys.flush())
		case s := <-signals:
			if err := v.signalled(s); err != nil {
				return err
			}
		}
		switch action {
		case actionQuit:
			return nil
		case actionStop:
			if err := v.terminal.stop(); err != nil {
				return err
			}
		}
	}
}

func (v *view) draw() error {
	text := v.painter.paint(v.model.lines())
	if text == "" || v.terminal.before == nil {
		return nil
	}
	return v.terminal.write(text)
}

// take shows an answer, and has the open row looked at again.
func (v *view) take(frame Frame, err error, at time.Time) {
	if err != nil {
		v.model.setAway(err, at)
		return
	}
	v.model.show(frame, at)
	v.want()
}

// press takes keys up to the first that ends the view or stops it.
func (v *view) press(keys []key) action {
	for _, k := range keys {
		switch action := v.model.press(k); action {
		case actionNone:
		case actionLook:
			v.want()
		case actionRedraw:
			v.painter.forget()
		case actionStop:
			if stops() {
				return actionStop
			}
		default:
			return action
		}
	}
	return actionNone
}

// want has the open row looked at, and none besides.
func (v *view) want() {
	select {
	case <-v.wanted:
	default:
	}
	if sheet, row, ok := v.model.opened(); ok {
		v.wanted <- opened{sheet, row}
	}
}

func (v *view) signalled(s os.Signal) error {
	switch s {
	case unix.SIGHUP:
		return errLost
	case unix.SIGCONT:
		if err := v.terminal.again(); err != nil {
			return err
		}
	}
	v.model.resize(v.terminal.size())
	v.painter.forget()
	return nil
}

// ask asks again and again until ctx ends.
func (v *view) ask(ctx context.Context) {
	for ctx.Err() == nil {
		frame, err := v.config.Ask(ctx)
		at := time.Now()
		select {
		case v.answers <- func() { v.take(frame, err, at) }:
		case <-ctx.Done():
		}
		select {
		case <-time.After(cmp.Or(v.config.Period, period)):
		case <-ctx.Done():
		}
	}
}

// look looks at rows as they are wanted until ctx ends.
func (v *view) look(ctx context.Context) {
	for {
		select {
		case of := <-v.wanted:
			words := "no details for " + of.row
			if v.config.Detail != nil {
				var err error
				if words, err = v.config.Detail(ctx, of.sheet, of.row); err != nil {
					words = err.Error()
				}
			}
			select {
			case v.answers <- func() { v.model.setDetail(of.sheet, of.row, words) }:
			case <-ctx.Done():
			}
		case <-ctx.Done():
			return
		}
	}
}
