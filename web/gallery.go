package web

import (
	"context"
	"sync"
)

// gallery hands the current frame to the readers. It is safe for concurrent use.
type gallery struct {
	places int
	came   chan struct{} // has one in it once a reader has come

	mu      sync.Mutex
	readers int
	now     *frame        // nil while there is no reader
	changed chan struct{} // closed by the next change
	ended   bool
}

func newGallery(places int) *gallery {
	return &gallery{places: places, came: make(chan struct{}, 1), changed: make(chan struct{})}
}

// enter takes a place, if there is one.
func (g *gallery) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.readers >= g.places {
		return false
	}
	g.readers++
	select {
	case g.came <- struct{}{}:
	default:
	}
	return true
}

// leave gives the place back. Without a reader the frame is forgotten, so that a later reader does
// not get an old one.
func (g *gallery) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.readers--; g.readers == 0 {
		g.now = nil
	}
}

func (g *gallery) anybody() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.readers > 0
}

// looked waits for a reader to come; it is false once ctx has ended.
func (g *gallery) looked(ctx context.Context) bool {
	select {
	case <-g.came:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// show has the readers see a frame.
func (g *gallery) show(f *frame) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.readers == 0 {
		return
	}
	g.now = f
	close(g.changed)
	g.changed = make(chan struct{})
}

// next waits for another frame than a reader has seen; it is nil once there will be none, or
// ctx has ended.
func (g *gallery) next(ctx context.Context, seen *frame) *frame {
	for {
		g.mu.Lock()
		now, changed, ended := g.now, g.changed, g.ended
		g.mu.Unlock()
		switch {
		case ended:
			return nil
		case now != nil && now != seen:
			return now
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// end ends the readers' streams.
func (g *gallery) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
	close(g.changed)
	g.changed = make(chan struct{})
}
