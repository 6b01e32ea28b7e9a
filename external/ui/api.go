package ui

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/spazio-scheduler/spazio/external/wire"
)

const apiBase = "/external/v1"

// api asks the interface in the name of whoever sent a request.
type api struct {
	handler http.Handler
	from    *http.Request
}

func (s *site) api(r *http.Request) api { return api{handler: s.config.API, from: r} }

// passed are the headers by which the interface knows the caller and where the request
// comes from.
var passed = []string{"Authorization", "Cookie", "Origin", "Sec-Fetch-Site", "X-Forwarded-For", "X-Forwarded-Proto", "Forwarded"}

// call sends a request with a JSON body, unless that is nil, and decodes the answer's into
// answer, unless that is nil. What is refused is a *wire.Problem.
func (a api) call(method, path string, header http.Header, body, answer any) (http.Header, error) {
	var content io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(data)
	}
	r, err := http.NewRequestWithContext(a.from.Context(), method, apiBase+path, content)
	if err != nil {
		return nil, err
	}
	r.Host, r.RemoteAddr, r.TLS = a.from.Host, a.from.RemoteAddr, a.from.TLS
	r.RequestURI = r.URL.RequestURI()
	for _, name := range passed {
		if values := a.from.Header[name]; values != nil {
			r.Header[name] = values
		}
	}
	r.Header.Set("Accept", "application/json")
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, values := range header {
		r.Header[name] = values
	}
	w := &recorder{header: make(http.Header)}
	a.handler.ServeHTTP(w, r)
	return w.read(answer)
}

func (a api) get(path string, answer any) error {
	_, err := a.call(http.MethodGet, path, nil, nil, answer)
	return err
}

// list reads all pages of a collection.
func list[T any](a api, kind wire.Kind, namespace string) ([]T, error) {
	path := "/" + string(kind)
	if namespace != "" {
		path = "/namespaces/" + url.PathEscape(namespace) + path
	}
	query := make(url.Values)
	var all []T
	for {
		var page wire.List[T]
		if err := a.get(path+"?"+query.Encode(), &page); err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if page.Continue == "" {
			return all, nil
		}
		query.Set("continue", page.Continue)
	}
}

// objectPath is the path of an object, whatever its name has in it.
func objectPath(kind wire.Kind, namespace, name string) string {
	return "/namespaces/" + url.PathEscape(namespace) + "/" + string(kind) + "/" + url.PathEscape(name)
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

// read decodes the answer, or returns the problem that it is.
func (r *recorder) read(answer any) (http.Header, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	if r.status >= 300 {
		problem := &wire.Problem{}
		if err := json.Unmarshal(r.body.Bytes(), problem); err != nil || problem.Status != r.status {
			problem = &wire.Problem{Title: http.StatusText(r.status), Status: r.status, Detail: http.StatusText(r.status)}
		}
		return r.header, problem
	}
	if answer == nil {
		return r.header, nil
	}
	if err := json.Unmarshal(r.body.Bytes(), answer); err != nil {
		return r.header, fmt.Errorf("the interface's answer cannot be read: %w", err)
	}
	return r.header, nil
}

// problemOf returns what was refused, or that the server is at fault.
func problemOf(err error) *wire.Problem {
	var p *wire.Problem
	if errors.As(err, &p) {
		return p
	}
	return &wire.Problem{Title: "Internal error", Status: http.StatusInternalServerError}
}
