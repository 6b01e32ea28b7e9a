package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/spazio-scheduler/spazio/web"
)

func read(t *testing.T, style string) *web.Files {
	t.Helper()
	f, err := web.ReadFiles(fstest.MapFS{
		"style.css":  {Data: []byte(style)},
		"index.html": {Data: []byte("<html>")},
		"inner/a.js": {Data: []byte("1")},
	}, ".")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// A browser caches a file of the version that it requested, and no other; other content has another
// version.
func TestFiles(t *testing.T) {
	f := read(t, "a {}")
	if again, other := read(t, "a {}").Version(), read(t, "b {}").Version(); again != f.Version() || other == f.Version() || len(other) != 16 {
		t.Errorf("versions %s, %s and %s", f.Version(), again, other)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /static/{version}/{file}", f)
	for path, want := range map[string]struct {
		code        int
		kept        bool
		media, text string
	}{
		f.Version() + "/style.css":    {http.StatusOK, true, "text/css; charset=utf-8", "a {}"},
		"0123456789abcdef/style.css":  {http.StatusOK, false, "text/css; charset=utf-8", "a {}"},
		f.Version() + "/index.html":   {code: http.StatusNotFound},
		f.Version() + "/none.css":     {code: http.StatusNotFound},
		f.Version() + "/inner":        {code: http.StatusNotFound},
		f.Version() + "/inner%2fa.js": {http.StatusOK, true, "text/javascript; charset=utf-8", "1"},
		f.Version() + "/..%2fa.css":   {code: http.StatusNotFound},
		"":                            {code: http.StatusNotFound},
	} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/static/"+path, nil))
		if w.Code != want.code {
			t.Errorf("%s: %d, want %d", path, w.Code, want.code)
			continue
		}
		if want.code != http.StatusOK {
			continue
		}
		kept := strings.Contains(w.Header().Get("Cache-Control"), "immutable")
		if kept != want.kept || w.Header().Get("Content-Type") != want.media || w.Body.String() != want.text {
			t.Errorf("%s: %v %q", path, w.Header(), w.Body)
		}
	}
}

// A page loads only from its own origin, is in no frame and is not cached; it sends forms to its
// own origin, or not at all.
func TestSetHeaders(t *testing.T) {
	for forms, want := range map[bool][2]string{true: {"'self'", "same-origin"}, false: {"'none'", "no-referrer"}} {
		h := http.Header{}
		web.SetHeaders(h, forms)
		policy := make(map[string]string)
		for _, directive := range strings.Split(h.Get("Content-Security-Policy"), "; ") {
			name, value, _ := strings.Cut(directive, " ")
			policy[name] = value
		}
		if diff := cmp.Diff(map[string]string{
			"default-src": "'none'", "script-src": "'self'", "style-src": "'self'", "img-src": "'self'", "connect-src": "'self'",
			"form-action": want[0], "base-uri": "'none'", "frame-ancestors": "'none'",
			"require-trusted-types-for": "'script'", "trusted-types": "'none'",
		}, policy); diff != "" {
			t.Errorf("forms %t: the policy (-want +got):\n%s", forms, diff)
		}
		h.Del("Content-Security-Policy")
		if diff := cmp.Diff(http.Header{
			"Referrer-Policy": {want[1]}, "X-Content-Type-Options": {"nosniff"}, "Cache-Control": {"no-store"},
			"Cross-Origin-Opener-Policy": {"same-origin"}, "Cross-Origin-Resource-Policy": {"same-origin"},
		}, h); diff != "" {
			t.Errorf("forms %t: headers (-want +got):\n%s", forms, diff)
		}
	}
}
