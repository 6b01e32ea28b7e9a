package web

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/field"
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

// errInvalid is wrapped by New's error for a Config.
var errInvalid = errors.New("invalid")

// Config is what a Server needs. The zero value of each field except Source is its default.
type Config struct {
	// Source knows what is shown. It is required.
	Source Source
	// Hosts are names and addresses, without ports, by which the page may be requested besides
	// those of the loopback. Requests for another host are refused, because a foreign page in the
	// same browser may have its own name resolve to this server.
	Hosts []string
	// AnyHost accepts every host name. It is for servers that authenticate their callers by
	// something that a foreign page doesn't have, such as a certificate or a token.
	AnyHost bool
	// Interval is how often State is asked and a frame made, 1 s.
	Interval time.Duration
	// WriteTimeout bounds the sending of a frame, 10 s; a slower reader is disconnected.
	WriteTimeout time.Duration
	// Logger is slog.Default() if nil.
	Logger *slog.Logger

	// readers is how many may look at a time, and askTimeout bounds what the Source may take for
	// one answer.
	readers    int
	askTimeout time.Duration
}

func (c Config) withDefaults() Config {
	c.Interval = cmp.Or(c.Interval, time.Second)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 10*time.Second)
	c.askTimeout = cmp.Or(c.askTimeout, 10*time.Second)
	c.readers = cmp.Or(c.readers, 32)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c
}

// validate returns a *field.Error for the first field out of its range.
func (c Config) validate() error {
	refuse := func(name string, value any) error {
		return &field.Error{Package: "web", Field: name, Value: value, Err: errInvalid}
	}
	if c.Source == nil {
		return refuse("Source", nil)
	}
	for _, host := range c.Hosts {
		if nameOf(host) == "" || strings.ContainsAny(host, "/ ") {
			return refuse("Hosts", host)
		}
	}
	switch {
	case c.Interval < 0:
		return refuse("Interval", c.Interval)
	case c.WriteTimeout < 0:
		return refuse("WriteTimeout", c.WriteTimeout)
	}
	return nil
}

// guard refuses what no reader of the page asks, and sets the headers that every answer has.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		SetHeaders(w.Header(), false)
		switch {
		case !s.serves(r.Host):
			http.Error(w, "this server is not asked for by that name", http.StatusMisdirectedRequest)
		case foreign(r):
			http.Error(w, "another site asks", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// serves reports whether the server has the host name. It protects against DNS rebinding, where a
// foreign site's name resolves to this server.
func (s *Server) serves(host string) bool {
	name := nameOf(host)
	if s.config.AnyHost || s.hosts[name] || name == "localhost" {
		return true
	}
	address, err := netip.ParseAddr(name)
	return err == nil && address.Unmap().IsLoopback()
}

// nameOf is a host without its port, in small letters.
func nameOf(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	if inside, ok := strings.CutPrefix(host, "["); ok {
		host = strings.TrimSuffix(inside, "]")
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}

// foreign reports whether a browser sends the request for a page of another site, which couldn't
// read the answer, but would take a reader's place. Opening this page by a link is allowed.
func foreign(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return false
	}
	return r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document"
}

//go:embed static
var embedded embed.FS

// readPage returns the page and the files that it loads. The page has their version; one that gets
// a frame of another version reloads.
func readPage() (page []byte, files *Files, err error) {
	if files, err = ReadFiles(embedded, "static"); err != nil {
		return nil, nil, err
	}
	page, err = embedded.ReadFile("static/index.html")
	return bytes.ReplaceAll(page, []byte("VERSION"), []byte(files.Version())), files, err
}

func (s *Server) servePage(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.page))
}
