package ui

import (
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/external/profiler"
	"github.com/spazio-scheduler/spazio/web/assets"
)

// Base is where the handler is mounted.
const Base = "/ui/"

// Config is what the pages need.
type Config struct {
	// API serves /external/v1 on the same origin; without one every page is a problem.
	API http.Handler
	// Key is the field of a job's data that has its row of the matrix; empty is
	// profiler.Key.
	Key string
	// LoginHint says in a sentence where a token is to be had; empty is a general one.
	LoginHint string
	// Now is time.Now if nil.
	Now func() time.Time
	// Logger is slog.Default() if nil.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.API == nil {
		c.API = http.NotFoundHandler()
	}
	if c.Key == "" {
		c.Key = profiler.Key
	}
	if c.LoginHint == "" {
		c.LoginHint = "Ask whoever runs this cluster for a token of the audience spazio-external."
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

// site answers the requests. It is safe for concurrent use.
type site struct{ config Config }

// Handler returns the pages, to be mounted at Base. It is safe for concurrent use. Requests
// that change something are refused if a browser sends them from another origin.
func Handler(c Config) http.Handler {
	s := &site{config: c.withDefaults()}
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(foreign))
	return protected(protection.Handler(s.routes()))
}

func (s *site) routes() http.Handler {
	mux := http.NewServeMux()
	handle := func(pattern string, answer func(http.ResponseWriter, *http.Request)) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" "+Base+path, answer)
	}
	handle("GET {$}", s.overview)
	handle("GET login", s.login)
	handle("POST login", s.logIn)
	handle("POST logout", s.logOut)
	handle("GET build", s.build)
	handle("POST build", s.submit)
	handle("GET jobs/{namespace}/{name}", s.job)
	handle("POST jobs/{namespace}/{name}", s.saveExternal)
	handle("GET schedulings/{namespace}/{name}", s.scheduling)
	handle("GET schedulings/{namespace}/{name}/delete", s.confirmDelete)
	handle("POST schedulings/{namespace}/{name}/delete", s.delete)
	handle("GET schedulings/{namespace}/{name}/release", s.confirmRelease)
	handle("POST schedulings/{namespace}/{name}/release", s.release)
	handle("GET matrix", s.matrix)
	mux.Handle("GET "+Base+"static/{version}/{file}", files)
	handle("GET ", s.lost)
	return mux
}

// protected sets the headers that every answer has.
func protected(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		assets.SetHeaders(w.Header(), true)
		next.ServeHTTP(w, r)
	})
}
