package web

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// asker asks the Source for its State in a goroutine of its own, one question at a time, so
// that a Source that doesn't answer blocks nothing else. Its methods are for one goroutine.
type asker struct {
	answers chan answer

	questions chan struct{}
	busy      bool
	since     time.Time // when it became busy
	cancel    context.CancelFunc
	done      sync.WaitGroup
}

type answer struct {
	state State
	err   error
}

func startAsker(ctx context.Context, c Config) *asker {
	ctx, cancel := context.WithCancel(ctx)
	a := &asker{answers: make(chan answer, 1), questions: make(chan struct{}, 1), cancel: cancel}
	a.done.Add(1) // WaitGroup.Go wants a newer Go than the root module's
	go func() {
		defer a.done.Done()
		failing := false
		for range a.questions {
			state, err := askState(ctx, c)
			if failed := err != nil && ctx.Err() == nil; failed != failing {
				failing = failed
				level, message := slog.LevelInfo, "The page's source answers again"
				if failed {
					level, message = slog.LevelWarn, "The page's source doesn't answer"
				}
				c.Logger.Log(ctx, level, message, "err", err)
			}
			a.answers <- answer{state, err}
		}
	}()
	return a
}

func askState(ctx context.Context, c Config) (State, error) {
	ctx, cancel := context.WithTimeout(ctx, c.AskTimeout)
	defer cancel()
	state, err := c.Source.State(ctx)
	if state.At.IsZero() {
		state.At = time.Now()
	}
	return state, err
}

// ask asks, unless there is a question already.
func (a *asker) ask() {
	if !a.busy {
		a.busy, a.since = true, time.Now()
		a.questions <- struct{}{}
	}
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
	close(a.questions)
	a.done.Wait()
}
