package web

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"
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

// problem is what is answered in place of what was asked.
type problem struct {
	Field string `json:"field,omitempty"`
	Value string `json:"value,omitempty"`
	Error string `json:"error"`
}

func (s *Server) node(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("name") // FormValue would read a body, too
	s.ask(w, r, "node", name, func(ctx context.Context) (any, error) { return s.config.Source.Node(ctx, name) })
}

func (s *Server) pod(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	namespace, name := query.Get("namespace"), query.Get("name")
	s.ask(w, r, "pod", namespace+"/"+name, func(ctx context.Context) (any, error) { return s.config.Source.Pod(ctx, namespace, name) })
}

// ask answers with what the Source returns, within askTimeout, a few requests at a time.
func (s *Server) ask(w http.ResponseWriter, r *http.Request, field, value string, of func(context.Context) (any, error)) {
	ctx, cancel := context.WithTimeout(r.Context(), s.config.askTimeout)
	defer cancel()
	select {
	case s.asking <- struct{}{}:
		defer func() { <-s.asking }()
	case <-ctx.Done():
		reply(w, http.StatusServiceUnavailable, problem{Error: "others ask at the same time"})
		return
	}
	what, err := of(ctx)
	if err != nil {
		p := problem{Field: field, Value: text(value, 2*maxName), Error: text(err.Error(), maxWords)}
		reply(w, codeOf(err), p)
		return
	}
	reply(w, http.StatusOK, what)
}

func codeOf(err error) int {
	switch {
	case errors.Is(err, ErrUnknownNode), errors.Is(err, ErrUnknownPod):
		return http.StatusNotFound
	case errors.Is(err, context.DeadlineExceeded):
		return http.StatusGatewayTimeout
	}
	return http.StatusBadGateway
}

// reply answers in JSON.
func reply(w http.ResponseWriter, code int, what any) {
	w.Header().Set("Content-Type", "application/json")
	data, err := json.Marshal(what)
	if err != nil {
		code, data = http.StatusInternalServerError, []byte(`{"error":"the answer is no JSON"}`)
	}
	w.WriteHeader(code)
	_, _ = w.Write(data) // it fails if the reader has gone
}
