package web

import (
	"bytes"
	"embed"
	"net/http"
	"time"
)

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
