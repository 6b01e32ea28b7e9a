package ui

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"github.com/spazio-scheduler/spazio/external/client"
	"github.com/spazio-scheduler/spazio/external/wire"
)

// apiURL is where requests to the interface seem to go: they stay in the process.
const apiURL = "http://localhost"

// api returns a client of the interface with the credentials of a request.
func (s *site) api(r *http.Request) *client.Client {
	c, err := client.New(client.Config{URL: apiURL, HTTP: &http.Client{Transport: inProcess{s.config.API, r}}, Attempts: 1})
	if err != nil {
		panic(err) // nothing in it is another's
	}
	return c
}

// inProcess has a handler answer a request with the credentials of another.
type inProcess struct {
	handler http.Handler
	from    *http.Request
}

// passed are the headers by which the interface knows the caller and where the request
// comes from.
var passed = []string{"Authorization", "Cookie", "Origin", "Sec-Fetch-Site", "X-Forwarded-For", "X-Forwarded-Proto", "Forwarded"}

// RoundTrip implements http.RoundTripper.
func (t inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Host, r.RemoteAddr, r.TLS, r.RequestURI = t.from.Host, t.from.RemoteAddr, t.from.TLS, r.URL.RequestURI()
	for _, name := range passed {
		if values := t.from.Header[name]; values != nil {
			r.Header[name] = values
		}
	}
	w := &recorder{header: make(http.Header)}
	t.handler.ServeHTTP(w, r)
	return &http.Response{StatusCode: cmp.Or(w.status, http.StatusOK), Header: w.header, Body: io.NopCloser(&w.body), Request: r}, nil
}

// recorder keeps an answer.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK {
		r.status = status
	}
}

func (r *recorder) Write(data []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(data)
}

// session begins a session by a login, or ends one, and hands on the cookies that the interface
// sets.
func (s *site) session(w http.ResponseWriter, r *http.Request, method string, login any) error {
	body, err := json.Marshal(login)
	if err != nil {
		return err
	}
	q, err := http.NewRequestWithContext(r.Context(), method, apiURL+"/external/v1/session", bytes.NewReader(body))
	if err != nil {
		return err
	}
	q.Header.Set("Content-Type", "application/json")
	answer, err := inProcess{s.config.API, r}.RoundTrip(q)
	if err != nil {
		return err
	}
	if answer.StatusCode >= http.StatusMultipleChoices {
		p := &wire.Problem{Title: http.StatusText(answer.StatusCode)}
		_ = json.NewDecoder(answer.Body).Decode(p) // what is no problem is one of its status
		p.Status = answer.StatusCode
		return p
	}
	for _, cookie := range answer.Header.Values("Set-Cookie") {
		w.Header().Add("Set-Cookie", cookie)
	}
	return nil
}

// problemOf returns what was refused, or that the server is at fault.
func problemOf(err error) *wire.Problem {
	var p *wire.Problem
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, client.ErrInvalid):
		return &wire.Problem{Title: "Not found", Status: http.StatusNotFound, Detail: "Nothing can have this name."}
	}
	return &wire.Problem{Title: "Internal error", Status: http.StatusInternalServerError}
}
