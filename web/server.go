package web

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// Server serves the page, whose links are relative: behind http.StripPrefix it may be mounted
// at any path that ends with a slash.
//
//	GET .                          the page
//	GET events                     frames, as server-sent events
//	GET node?name=                 an Explanation
//	GET pod?namespace=&name=       a Timeline
//	GET static/{version}/{file}    what the page loads
//
// Its methods are safe for concurrent use; Run is called once.
type Server struct {
	config  Config
	hosts   map[string]bool
	page    []byte
	files   *Files
	gallery *gallery
	asking  chan struct{} // a place for each question of a node or a pod
	handler http.Handler
}

// questions is how many questions of nodes and pods are before the Source at a time.
const questions = 8

// New makes a server. The error is a *field.Error.
func New(c Config) (*Server, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	c = c.withDefaults()
	page, files, err := readPage()
	if err != nil {
		return nil, fmt.Errorf("web: the page is not in the program: %w", err)
	}
	s := &Server{
		config: c, hosts: make(map[string]bool), page: page, files: files, gallery: newGallery(c.readers),
		asking: make(chan struct{}, questions),
	}
	for _, host := range c.Hosts {
		s.hosts[nameOf(host)] = true
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.servePage)
	mux.Handle("GET /static/{version}/{file}", s.files)
	mux.HandleFunc("GET /events", s.events)
	mux.HandleFunc("GET /node", s.node)
	mux.HandleFunc("GET /pod", s.pod)
	s.handler = s.guard(mux)
	return s, nil
}

// ServeHTTP answers a request. Those for events get frames as long as Run runs, and wait for
// it before.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// events sends a reader frames until it goes, Run ends or one isn't taken in time. A reader
// that is slow misses some: it is then sent all that there is, as at first.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("X-Accel-Buffering", "no")
	if r.Method == http.MethodHead {
		return
	}
	if !s.gallery.enter() {
		retry := int(max(s.config.Interval, 5*time.Second) / time.Second)
		h.Set("Retry-After", strconv.Itoa(retry))
		http.Error(w, fmt.Sprintf("%d readers look already", s.config.readers), http.StatusServiceUnavailable)
		return
	}
	defer s.gallery.leave()
	c := http.NewResponseController(w)
	// The server's own timeout is for answers that come to an end.
	if err := c.SetWriteDeadline(time.Time{}); err != nil {
		http.Error(w, "this server can't stream", http.StatusInternalServerError)
		return
	}
	for sent := (*frame)(nil); ; {
		f := s.gallery.next(r.Context(), sent)
		if f == nil || s.send(w, c, f.after(sent)) != nil {
			return
		}
		sent = f
	}
}

// send writes in time. Its deadline ends with it: the connection may carry further requests.
func (s *Server) send(w http.ResponseWriter, c *http.ResponseController, data []byte) error {
	if err := c.SetWriteDeadline(time.Now().Add(s.config.WriteTimeout)); err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return err
	}
	if err := c.Flush(); err != nil {
		return err
	}
	return c.SetWriteDeadline(time.Time{})
}

// Run asks the Source and makes frames while there are readers, until ctx ends, which is no error;
// then it ends the readers' streams.
func (s *Server) Run(ctx context.Context) error {
	defer s.gallery.end()
	a := newAsker(ctx, s.config)
	defer a.stop()
	p := painter{version: s.files.Version()}
	for s.gallery.looked(ctx) {
		p.forget()
		s.show(ctx, a, &p)
	}
	return nil
}

// show makes frames until the last reader has left.
func (s *Server) show(ctx context.Context, a *asker, p *painter) {
	if !s.gallery.anybody() { // the reader that came has left
		return
	}
	clock := time.NewTicker(s.config.Interval)
	defer clock.Stop()
	a.drop()
	for a.ask(); s.gallery.anybody(); {
		select {
		case <-ctx.Done():
			return
		case answer := <-a.answers:
			a.busy = false
			s.gallery.show(p.paint(answer.state, answer.err))
		case <-clock.C:
			if late := a.late(3 * s.config.Interval); late > 0 {
				s.gallery.show(p.wait(late))
			}
			a.ask()
		}
	}
}
