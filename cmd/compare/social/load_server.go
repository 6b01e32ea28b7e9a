package social

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// LoadPath is where a server of loads takes them.
const LoadPath = "/load"

// begun is what is said when the first request is due.
const begun = "began"

// LoadMain serves LoadHandler at a free port of the loopback, as the role of a child: it says its address
// once it does.
func LoadMain(ctx context.Context, _ []string, _ io.Reader, out io.Writer) error {
	// A sender that waits for a CPU would measure that wait. The priority needs a permission.
	_ = syscall.Setpriority(syscall.PRIO_PGRP, 0, -10)
	return Serve(ctx, "127.0.0.1:0", LoadHandler(), announce(out))
}

// LoadHandler sends a Load for whoever posts it as JSON to LoadPath, one at a time; others
// get the status 409, busy. It answers with a line, "began", when the first request is due,
// and at the end with the LoadResult as JSON, with an empty line each second between, for the sake of
// what gives up connections that are silent. A load ends with its request. At /ready it answers.
func LoadHandler() http.Handler {
	var busy sync.Mutex
	mux := http.NewServeMux()
	mux.HandleFunc("GET /ready", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST "+LoadPath, func(w http.ResponseWriter, r *http.Request) {
		var c Load
		err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&c)
		if err == nil {
			err = c.Validate()
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if !busy.TryLock() {
			http.Error(w, "another load is being sent", http.StatusConflict)
			return
		}
		answer(w, func(begun func()) (LoadResult, error) {
			defer busy.Unlock() // before the result is written: its reader may send the next load
			return runLoad(r.Context(), c, begun)
		})
	})
	return mux
}

// answer runs the load. Without a result the answer ends early.
func answer(w http.ResponseWriter, run func(begun func()) (LoadResult, error)) {
	lines := make(chan string, 2) // so that the load never waits for the reader
	var saying sync.WaitGroup
	defer saying.Wait()
	defer close(lines)
	saying.Go(func() { say(w, lines) })
	result, err := run(func() { lines <- begun })
	if err != nil {
		return
	}
	if text, err := json.Marshal(result); err == nil { // it is numbers and a text
		lines <- string(text)
	}
}

// say writes lines until there are no more, and empty ones between them. If the client
// has gone, the request ends.
func say(w http.ResponseWriter, lines <-chan string) {
	flush := http.NewResponseController(w)
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		line := ""
		select {
		case next, more := <-lines:
			if !more {
				return
			}
			line = next
		case <-ticker.C:
		}
		fmt.Fprintln(w, line)
		_ = flush.Flush()
	}
}

// errAnswer is wrapped where a server of loads did not do what it was asked for.
var errAnswer = errors.New("the load was not sent")

// SendLoad has the LoadHandler at a URL send a load and has meanwhile done, from when the first
// request is due. The load ends with ctx, and where meanwhile fails.
func SendLoad(ctx context.Context, client *http.Client, url string, c Load, meanwhile func() error) (r LoadResult, err error) {
	if err := c.Validate(); err != nil {
		return r, err
	}
	text, err := json.Marshal(c)
	if err != nil {
		return r, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(text))
	if err != nil {
		return r, err
	}
	response, err := client.Do(request)
	if err != nil {
		return r, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return r, fmt.Errorf("%w: %s: %s", errAnswer, response.Status, bytes.TrimSpace(said))
	}
	lines := bufio.NewScanner(response.Body)
	line, err := next(lines)
	if err != nil {
		return r, fmt.Errorf("%w: %w", errAnswer, errors.Join(err, ctx.Err()))
	}
	if string(line) != begun {
		return r, fmt.Errorf("%w: it begins with %q", errAnswer, line)
	}
	if err := meanwhile(); err != nil {
		return r, err
	}
	if line, err = next(lines); err != nil {
		return r, fmt.Errorf("%w: %w", errAnswer, errors.Join(err, ctx.Err()))
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return r, fmt.Errorf("%w: it ends with %s: %w", errAnswer, line, err)
	}
	return r, nil
}

// next is the next line that says something.
func next(lines *bufio.Scanner) ([]byte, error) {
	for lines.Scan() {
		if text := lines.Bytes(); len(text) > 0 {
			return text, nil
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return nil, io.ErrUnexpectedEOF
}
