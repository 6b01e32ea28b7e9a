package source_test

import (
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/energy/source"
)

// TestRedfish queries a controller over TLS, with a token. Entries without a declared scope may
// contain one another, so they are not summed.
func TestRedfish(t *testing.T) {
	const body = `{"PowerControl":[{"PowerConsumedWatts":210.5},{"PowerConsumedWatts":20},{"Name":"unmetered"}]}`
	var token atomic.Value
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token.Store(r.Header.Get("X-Auth-Token"))
		_, _ = w.Write([]byte(body))
	}))
	defer server.Close()
	file := filepath.Join(t.TempDir(), "token")
	write(t, file, "secret\n")
	r, err := source.NewRedfish(t.Context(), source.RedfishConfig{URL: server.URL, TokenFile: file, TLS: trust(server)})
	if err != nil {
		t.Fatal(err)
	}
	readings := answered(t, r)
	if len(readings) != 1 || readings[0].Watts != 210.5 || !readings[0].Gauge || token.Load() != "secret" {
		t.Errorf("%+v, token %v", readings, token.Load())
	}
	if _, err := r.ReadTo(nil, readings[0].At.Add(time.Second)); !errors.Is(err, source.ErrUnchanged) {
		t.Error("the same answer again:", err)
	}
	if _, err := r.ReadTo(nil, readings[0].At.Add(16*time.Second)); !errors.Is(err, source.ErrStale) {
		t.Error("an old answer:", err)
	}
	if r.Quality() != energy.Platform || r.Period() != 5*time.Second {
		t.Error(r.Quality(), r.Period())
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func trust(server *httptest.Server) *tls.Config {
	return server.Client().Transport.(*http.Transport).TLSClientConfig
}

// answered waits for the first answer.
func answered(t *testing.T, r *source.Redfish) []energy.Reading {
	t.Helper()
	for {
		readings, err := r.ReadTo(nil, time.Now())
		if len(readings) > 0 {
			return readings
		}
		if !errors.Is(err, source.ErrUnchanged) {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
}

// TestRedfishRefused: every wrong answer of a controller is an error without a reading.
func TestRedfishRefused(t *testing.T) {
	for name, handle := range map[string]http.HandlerFunc{
		"no such page": http.NotFound,
		"no token":     func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) },
		"elsewhere":    func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/other", http.StatusFound) },
		"no JSON":      func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) },
		"too long": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(strings.Repeat(" ", 2<<20) + "{}"))
		},
		"negative": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write([]byte(`{"PowerControl":[{"PowerConsumedWatts":-1}]}`))
		},
		"no power": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"PowerControl":[{}]}`)) },
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewTLSServer(handle)
			defer server.Close()
			r, err := source.NewRedfish(t.Context(), source.RedfishConfig{URL: server.URL, TLS: trust(server)})
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			for {
				readings, err := r.ReadTo(nil, time.Now())
				if len(readings) > 0 {
					t.Fatal(readings)
				}
				if !errors.Is(err, source.ErrUnchanged) {
					break
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	r, err := source.NewRedfish(t.Context(), source.RedfishConfig{URL: server.URL}) // an unknown authority
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := r.ReadTo(nil, time.Now()); !errors.Is(err, source.ErrUnchanged) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	_ = r.Close()
}

// TestRedfishCloses while a request hangs.
func TestRedfishCloses(t *testing.T) {
	asked := make(chan struct{})
	server := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
	}))
	defer server.Close()
	r, err := source.NewRedfish(t.Context(), source.RedfishConfig{URL: server.URL, TLS: trust(server)})
	if err != nil {
		t.Fatal(err)
	}
	<-asked
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

// TestRedfishRefers: the error has the address of a redirect, which some controllers send to add a
// slash. The token is not sent there.
func TestRedfishRefers(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/Power" {
			t.Error("asked for", r.URL.Path)
		}
		http.Redirect(w, r, "/Power/", http.StatusPermanentRedirect)
	}))
	defer server.Close()
	r, err := source.NewRedfish(t.Context(), source.RedfishConfig{URL: server.URL + "/Power", TLS: trust(server)})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for {
		if _, err := r.ReadTo(nil, time.Now()); !errors.Is(err, source.ErrUnchanged) {
			if !strings.Contains(err.Error(), `"/Power/"`) {
				t.Error(err)
			}
			return
		}
		time.Sleep(time.Millisecond)
	}
}
