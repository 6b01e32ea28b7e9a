package web

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// asker asks the Source for its State, one question at a time and each in a goroutine of its own,
// so that a Source that doesn't answer blocks nothing else. Its methods are for one goroutine.
type asker struct {
	config  Config
	ctx     context.Context // of all questions
	cancel  context.CancelFunc
	answers chan answer

	busy    bool      // a question has no answer yet
	since   time.Time // when it became busy
	failing bool      // the last answer was an error; the question's goroutine has it
	done    sync.WaitGroup
}

type answer struct {
	state State
	err   error
}

func newAsker(ctx context.Context, c Config) *asker {
	ctx, cancel := context.WithCancel(ctx)
	return &asker{config: c, ctx: ctx, cancel: cancel, answers: make(chan answer, 1)}
}

// ask asks, unless there is a question already.
func (a *asker) ask() {
	if a.busy {
		return
	}
	a.busy, a.since = true, time.Now()
	a.done.Add(1) // WaitGroup.Go wants a newer Go than the root module's
	go func() {
		defer a.done.Done()
		state, err := askState(a.ctx, a.config)
		if failed := err != nil && a.ctx.Err() == nil; failed != a.failing {
			a.failing = failed
			level, message := slog.LevelInfo, "The page's source answers again"
			if failed {
				level, message = slog.LevelWarn, "The page's source doesn't answer"
			}
			a.config.Logger.Log(a.ctx, level, message, "err", err)
		}
		a.answers <- answer{state, err}
	}()
}

func askState(ctx context.Context, c Config) (State, error) {
	ctx, cancel := context.WithTimeout(ctx, c.askTimeout)
	defer cancel()
	state, err := c.Source.State(ctx)
	if state.At.IsZero() {
		state.At = time.Now()
	}
	return state, err
}

// drop discards an answer that was not taken: it is from the time of the last reader.
func (a *asker) drop() {
	select {
	case <-a.answers:
		a.busy = false
	default:
	}
}

// late returns how long the answer has been awaited, if that is longer than it should be.
func (a *asker) late(should time.Duration) time.Duration {
	if is := time.Since(a.since); a.busy && is > should {
		return is
	}
	return 0
}

// stop cancels the last question and waits for its end.
func (a *asker) stop() {
	a.cancel()
	a.done.Wait()
}
