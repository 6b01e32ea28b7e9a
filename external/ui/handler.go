package ui

import (
	"cmp"
	"embed"
	"log/slog"
	"net/http"
	"time"

	"github.com/spazio-scheduler/spazio/web"
)

// Base is where the handler is mounted.
const Base = "/ui/"

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

// Handler returns the pages, to be mounted at Base. It is safe for concurrent use. Requests
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
	mux.HandleFunc("GET "+Base+"{$}", s.overview)
	mux.HandleFunc("GET "+Base+"login", s.login)
	mux.HandleFunc("POST "+Base+"login", s.logIn)
	mux.HandleFunc("POST "+Base+"logout", s.logOut)
	mux.HandleFunc("GET "+Base+"build", s.build)
	mux.HandleFunc("POST "+Base+"build", s.submit)
	mux.HandleFunc("GET "+Base+"jobs/{namespace}/{name}", s.job)
	mux.HandleFunc("POST "+Base+"jobs/{namespace}/{name}", s.saveExternal)
	mux.HandleFunc("GET "+Base+"schedulings/{namespace}/{name}", s.scheduling)
	mux.HandleFunc("GET "+Base+"schedulings/{namespace}/{name}/{ending}", s.end)
	mux.HandleFunc("POST "+Base+"schedulings/{namespace}/{name}/{ending}", s.end)
	mux.HandleFunc("GET "+Base+"matrix", s.matrix)
	mux.Handle("GET "+Base+"static/{version}/{file}", files)
	mux.HandleFunc("GET "+Base, s.lost)
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
func filesPath() string { return Base + "static/" + files.Version() + "/" }
