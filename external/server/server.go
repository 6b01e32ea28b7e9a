package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/spazio-scheduler/spazio/external/wire"
	"github.com/spazio-scheduler/spazio/field"
)

// Server answers requests. Its methods are safe for concurrent use; Run is called once.
type Server struct {
	config   Config
	mux      *http.ServeMux
	crossing *http.CrossOriginProtection
	callers  *callers
	watches  *watches
	requests *prometheus.CounterVec
	// description is /openapi.json.
	description []byte
}

// New makes a server. The error is a *field.Error.
func New(config Config) (*Server, error) {
	config, err := config.complete()
	if err != nil {
		return nil, err
	}
	s := &Server{
		config:   config,
		mux:      http.NewServeMux(),
		crossing: http.NewCrossOriginProtection(),
		callers:  newCallers(config.Limits),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "spazio_testbed_requests_total",
			Help: "Requests to the external scheduler's interface by the status of the answer.",
		}, []string{"code"}),
	}
	s.watches = newWatches(s)
	if r := config.Registerer; r != nil {
		if err := errors.Join(r.Register(s.requests), r.Register(s.watches.watchers), r.Register(s.watches.events)); err != nil {
			return nil, &field.Error{Package: "server", Field: "Registerer", Value: "metrics", Err: fmt.Errorf("%w: %w", errInvalid, err)}
		}
	}
	rows := routes()
	if s.description, err = openapi(rows); err != nil {
		return nil, err
	}
	if config.SeedPaths {
		rows = append(rows, seedRoutes()...)
	}
	s.serveRoutes(rows)
	if config.UI != nil {
		s.mux.Handle("/ui/", pages(config.UI(s)))
		s.mux.Handle("GET /{$}", http.RedirectHandler("/ui/", http.StatusFound))
	}
	s.mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w, r, Caller{}, Refuse(http.StatusNotFound, "There is no such path."))
	})
	return s, nil
}

// Run follows the Store, to feed the watches, until ctx ends, which is no error, or Store.Follow
// fails; then it ends the watches and returns when all have ended. Without it a watch is refused
// with status 503; other requests are answered.
func (s *Server) Run(ctx context.Context) error { return s.watches.run(ctx) }

// ServeHTTP answers a request. A panic becomes an answer of status 500.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rec := &recorder{ResponseWriter: w, patience: 2 * s.config.Limits.Timeout}
	defer func() {
		if fault := recover(); fault != nil {
			s.failed(rec, r, fault)
		}
		s.requests.WithLabelValues(strconv.Itoa(cmp.Or(rec.code, http.StatusOK))).Inc()
	}()
	// A context bounds the server's own work alone, not the caller's sending; a connection
	// that is taken over, as for a watch, loses the bound.
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(rec.patience)) // a request within the process has none
	secure(w.Header())
	if p := s.checkSource(r); p != nil {
		s.refuse(rec, r, Caller{}, p)
		return
	}
	s.mux.ServeHTTP(rec, r)
}

// failed answers for a handler that panicked. If an answer has begun, it cuts the connection, so
// that the client does not take a part for the whole.
func (s *Server) failed(w *recorder, r *http.Request, fault any) {
	if err, ok := fault.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
		s.config.Logger.LogAttrs(r.Context(), slog.LevelError, "handler panicked",
			slog.String("method", r.Method), slog.String("path", r.URL.Path),
			slog.Any("fault", fault), slog.String("stack", string(debug.Stack())))
	}
	begun := w.code != 0
	w.code = http.StatusInternalServerError
	if begun {
		s.requests.WithLabelValues(strconv.Itoa(w.code)).Inc()
		panic(http.ErrAbortHandler)
	}
	w.code = 0
	writeProblem(w, Refuse(http.StatusInternalServerError, "The server failed. Its log says why."))
}

// refuse answers with the problem that err is, and logs it: faults of the server as
// errors.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, caller Caller, err error) {
	p := problemOf(err)
	level := slog.LevelInfo
	if p.Status == http.StatusInternalServerError {
		level = slog.LevelError
	}
	s.config.Logger.LogAttrs(r.Context(), level, "request refused",
		slog.Int("status", p.Status), slog.String("method", r.Method), slog.String("path", r.URL.Path),
		slog.String("caller", caller.Name), slog.String("why", err.Error()))
	writeProblem(w, p)
}

// recorder remembers the status of an answer, and bounds how long it is to be read.
type recorder struct {
	http.ResponseWriter
	code     int
	patience time.Duration
}

func (w *recorder) WriteHeader(code int) {
	// Statuses below 200, except 101, come before the answer.
	if code >= http.StatusOK || code == http.StatusSwitchingProtocols {
		w.begin(code)
	}
	w.ResponseWriter.WriteHeader(code)
}

func (w *recorder) Write(data []byte) (int, error) {
	w.begin(http.StatusOK)
	return w.ResponseWriter.Write(data)
}

func (w *recorder) begin(code int) {
	if w.code == 0 {
		w.code = code
		_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.patience))
	}
}

// Unwrap lets http.ResponseController find what the writer can do.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// call is a request of a caller who may make it.
type call struct {
	w               http.ResponseWriter
	r               *http.Request
	caller          Caller
	namespace, name string
	longest         int64 // of the body, in bytes
}

// serveRoutes serves the rows, and refuses other methods of their paths.
func (s *Server) serveRoutes(rows []route) {
	methods := make(map[string][]string)
	for _, row := range rows {
		s.mux.HandleFunc(row.method+" "+row.path, func(w http.ResponseWriter, r *http.Request) { s.serve(&row, w, r) })
		methods[row.path] = append(methods[row.path], row.method)
	}
	for path, all := range methods {
		if slices.Contains(all, http.MethodGet) {
			all = append(all, http.MethodHead)
		}
		slices.Sort(all)
		allow := strings.Join(all, ", ")
		s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", allow)
			s.refuse(w, r, Caller{}, Refuse(http.StatusMethodNotAllowed, "The path takes "+allow+"."))
		})
	}
}

// serve takes a request through the steps that all rows have in common.
func (s *Server) serve(row *route, w http.ResponseWriter, r *http.Request) {
	if !row.long {
		ctx, cancel := context.WithTimeout(r.Context(), s.config.Limits.Timeout)
		defer cancel()
		r = r.WithContext(ctx)
	}
	c := &call{w: w, r: r, namespace: r.PathValue("namespace"), name: r.PathValue("name"), longest: mostBody}
	if row.anonymous {
		c.longest = maxLogin
	}
	if err := s.admit(row, c); err != nil {
		s.refuse(w, r, c.caller, err)
		return
	}
	if !row.long && !row.anonymous {
		end, err := s.callers.begin(c.caller)
		if err != nil {
			s.refuse(w, r, c.caller, err)
			return
		}
		defer end()
	}
	if err := row.serve(s, c); err != nil {
		s.refuse(w, r, c.caller, err)
	}
}

// admit returns why the caller may not make the request, before its body is read.
func (s *Server) admit(row *route, c *call) error {
	if row.anonymous {
		return checkQuery(row, c.r)
	}
	var err error
	if c.caller, err = s.authenticate(c.r.Context(), tokenOf(c.r)); err != nil {
		return err
	}
	if err := s.callers.enter(c.caller); err != nil {
		return err
	}
	if err := checkQuery(row, c.r); err != nil {
		return err
	}
	switch {
	case row.seed:
		c.namespace = s.config.DefaultNamespace
	case c.namespace == "":
		if c.namespace = c.r.URL.Query().Get("namespace"); c.namespace != "" && !wire.ValidNamespace(c.namespace) {
			return badQuery("namespace", wire.Invalid, "must be a namespace's name")
		}
	}
	if c.namespace != "" && !wire.ValidNamespace(c.namespace) || c.name != "" && !wire.ValidName(c.name) {
		return Refuse(http.StatusNotFound, "Nothing can have this name: names are of lower-case letters, digits and hyphens.")
	}
	if row.verb == "" {
		return nil
	}
	access := Access{Verb: row.verb, Kind: row.kind, Namespace: c.namespace, Name: c.name, External: row.external}
	return s.authorize(c.r.Context(), c.caller, access)
}

func (s *Server) authorize(ctx context.Context, caller Caller, access Access) error {
	return s.config.Authorizer.Authorize(ctx, caller, access)
}
