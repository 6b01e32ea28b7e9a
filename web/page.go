package web

import (
	"bytes"
	"embed"
	"io/fs"
	"net/http"
	"time"

	"github.com/spazio-scheduler/spazio/web/assets"
)

//go:embed static
var embedded embed.FS

// readPage returns the page and the files that it loads. It names their version, and a frame
// tells a page of another to load anew.
func readPage() (page []byte, files *assets.Files, err error) {
	tree, err := fs.Sub(embedded, "static")
	if err != nil {
		return nil, nil, err
	}
	if files, err = assets.Read(tree); err != nil {
		return nil, nil, err
	}
	page, err = fs.ReadFile(tree, "index.html")
	return bytes.ReplaceAll(page, []byte("VERSION"), []byte(files.Version())), files, err
}

func (s *Server) servePage(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(s.page))
}
