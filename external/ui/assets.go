package ui

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"time"
)

//go:embed static/style.css static/page.js static/watch.js static/icon.svg
var staticFiles embed.FS

// assets are the files that pages load. Their path has a hash of all of them, so that they
// may be kept for ever and a module finds the other of its own version.
type assets struct {
	version string
	content map[string][]byte
}

var files = readAssets("icon.svg", "page.js", "style.css", "watch.js")

var mediaTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

func readAssets(names ...string) assets {
	a := assets{content: make(map[string][]byte)}
	hash := sha256.New()
	for _, name := range names {
		data, err := staticFiles.ReadFile("static/" + name)
		if err != nil {
			panic(err) // they are in the program
		}
		a.content[name] = data
		hash.Write([]byte(name))
		hash.Write(data)
	}
	a.version = hex.EncodeToString(hash.Sum(nil)[:8])
	return a
}

// path is where the files are, with a slash at its end.
func (a *assets) path() string { return Base + "static/" + a.version + "/" }

func serveFile(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	data, ok := files.content[name]
	if !ok {
		http.NotFound(w, r)
		return
	}
	// Of another version than was asked for it must not be kept.
	if r.PathValue("version") == files.version {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	w.Header().Set("Content-Type", mediaTypes[path.Ext(name)])
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(data))
}
