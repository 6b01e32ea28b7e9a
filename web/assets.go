package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"time"
)

// Files are what a program's pages load, served from the program itself. They are to be served below
// a path with their Version, so that they may be cached for ever, and one of them finds the others of
// its own version. They are safe for concurrent use.
type Files struct {
	version string
	files   fs.FS
}

var mediaTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
	".txt": "text/plain; charset=utf-8",
}

// ReadFiles takes all files below a directory of a tree, of which style sheets, scripts, pictures (SVG)
// and text are served.
func ReadFiles(tree fs.FS, dir string) (*Files, error) {
	files, err := fs.Sub(tree, dir)
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	hash := sha256.New()
	err = fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(files, name)
		hash.Write([]byte(name))
		hash.Write(data)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	return &Files{hex.EncodeToString(hash.Sum(nil)[:8]), files}, nil
}

// Version returns a hash of the files.
func (f *Files) Version() string { return f.version }

// ServeHTTP answers requests of a pattern that ends with {version}/{file}.
func (f *Files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	media, ok := mediaTypes[path.Ext(name)]
	data, err := fs.ReadFile(f.files, name)
	if !ok || err != nil {
		http.NotFound(w, r)
		return
	}
	// A file of another version than the path's must not be cached.
	if r.PathValue("version") == f.version {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	w.Header().Set("Content-Type", media)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
}

// policy lets a page load from, and send to, its own origin alone, and run no script that makes
// code or elements of text.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'; form-action "

// SetHeaders sets the headers of every answer of a page that loads nothing from elsewhere. If pages have forms, the policy lets them be sent to
// their own origin, with the page as referrer; else it allows none. A browser does not store
// pages, which depend on the caller's rights; Files override that.
func SetHeaders(h http.Header, forms bool) {
	action, referrer := "'none'", "no-referrer"
	if forms {
		action, referrer = "'self'", "same-origin"
	}
	h.Set("Content-Security-Policy", policy+action)
	h.Set("Referrer-Policy", referrer)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}
