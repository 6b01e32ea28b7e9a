package ui

import (
	"cmp"
	"embed"
	"log/slog"
	"net/http"
	"time"

	"github.com/spazio-scheduler/spazio/web"
)

// base is where the handler is mounted.
const base = "/ui/"

// Config is what the pages need.
type Config struct {
	// API serves /external/v1 on the same origin; without one every page is a problem.
	API http.Handler
	// Logger is slog.Default() if nil.
	Logger *slog.Logger
	// now is time.Now if nil.
	now func() time.Time
}

// site answers the requests. It is safe for concurrent use.
type site struct{ config Config }

// Handler returns the pages, to be mounted at /ui/. It is safe for concurrent use. Requests
// that change something are refused if a browser sends them from another origin.
func Handler(c Config) http.Handler {
	if c.API == nil {
		c.API = http.NotFoundHandler()
	}
	if c.now == nil {
		c.now = time.Now
	}
	s := &site{config: c}
	s.config.Logger = cmp.Or(c.Logger, slog.Default())
	protection := http.NewCrossOriginProtection()
	protection.SetDenyHandler(http.HandlerFunc(foreign))
	pages := protection.Handler(s.routes())
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		web.SetHeaders(w.Header(), true)
		pages.ServeHTTP(w, r)
	})
}

func (s *site) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+base+"{$}", s.overview)
	mux.HandleFunc("GET "+base+"login", s.login)
	mux.HandleFunc("POST "+base+"login", s.logIn)
	mux.HandleFunc("POST "+base+"logout", s.logOut)
	mux.HandleFunc("GET "+base+"build", s.build)
	mux.HandleFunc("POST "+base+"build", s.submit)
	mux.HandleFunc("GET "+base+"jobs/{namespace}/{name}", s.job)
	mux.HandleFunc("POST "+base+"jobs/{namespace}/{name}", s.saveExternal)
	mux.HandleFunc("GET "+base+"schedulings/{namespace}/{name}", s.scheduling)
	mux.HandleFunc("GET "+base+"schedulings/{namespace}/{name}/{ending}", s.end)
	mux.HandleFunc("POST "+base+"schedulings/{namespace}/{name}/{ending}", s.end)
	mux.HandleFunc("GET "+base+"matrix", s.matrix)
	mux.Handle("GET "+base+"static/{version}/{file}", files)
	mux.HandleFunc("GET "+base, s.lost)
	return mux
}

//go:embed static
var embedded embed.FS

// files are what pages load, from below filesPath.
var files = readFiles()

func readFiles() *web.Files {
	files, err := web.ReadFiles(embedded, "static")
	if err != nil {
		panic(err) // they are in the program
	}
	return files
}

// filesPath is where the files are, with a slash at its end.
func filesPath() string { return base + "static/" + files.Version() + "/" }
