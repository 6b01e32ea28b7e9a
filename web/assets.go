package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"time"
)

//go:embed static
var embedded embed.FS

// assets are the page and the files that it loads, from below a path with a hash of all, so
// that they may be kept for ever and a frame tells a page of another version to load anew.
type assets struct {
	version string
	page    []byte
	files   fs.FS
}

var mediaTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
	".txt": "text/plain; charset=utf-8",
}

func readAssets() (assets, error) {
	var a assets
	var err error
	if a.files, err = fs.Sub(embedded, "static"); err != nil {
		return a, err
	}
	hash := sha256.New()
	err = fs.WalkDir(a.files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := fs.ReadFile(a.files, name)
		hash.Write([]byte(name))
		hash.Write(data)
		if name == "index.html" {
			a.page = data
		}
		return err
	})
	a.version = hex.EncodeToString(hash.Sum(nil)[:8])
	a.page = bytes.ReplaceAll(a.page, []byte("VERSION"), []byte(a.version))
	return a, err
}

func (a *assets) servePage(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.page))
}

func (a *assets) serveFile(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	media, ok := mediaTypes[path.Ext(name)]
	data, err := fs.ReadFile(a.files, name)
	if !ok || err != nil {
		http.NotFound(w, r)
		return
	}
	// Of another version than was asked for it must not be kept.
	if r.PathValue("version") == a.version {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	w.Header().Set("Content-Type", media)
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
}
