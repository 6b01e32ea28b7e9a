package social

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/field"
)

// A client that posts a load gets a line when it begins and its results.
func TestSend(t *testing.T) {
	s := &server{}
	target, sender := serve(t, s), httptest.NewServer(LoadHandler())
	t.Cleanup(sender.Close)
	c := Load{Targets: []string{target}, Rate: 50, Connections: 4, Duration: 1500 * time.Millisecond}
	began := false
	got, err := SendLoad(t.Context(), sender.Client(), sender.URL+LoadPath, c, func() error {
		began = true
		return nil
	})
	if err != nil || !began {
		t.Fatalf("error %v, began %v", err, began)
	}
	if got.Requests != 75 || got.Errors != 0 || int(s.reads.Load()+s.composes.Load()) != 75 || got.P50 <= 0 {
		t.Errorf("%+v of 75 requests, %d reads and %d composes", got, s.reads.Load(), s.composes.Load())
	}
}

// Any client can end a load; until then the sender is busy.
func TestSendOneAtATime(t *testing.T) {
	target, sender := serve(t, &server{}), httptest.NewServer(LoadHandler())
	t.Cleanup(sender.Close)
	c := Load{Targets: []string{target}, Rate: 10, Connections: 4, Duration: time.Hour}
	ctx, stop := context.WithCancel(t.Context())
	enough := errors.New("enough")
	_, err := SendLoad(ctx, sender.Client(), sender.URL+LoadPath, c, func() error {
		_, second := SendLoad(t.Context(), sender.Client(), sender.URL+LoadPath, c, func() error { return enough })
		if !errors.Is(second, errAnswer) || !strings.Contains(second.Error(), "another load") {
			t.Errorf("a second one: error %v", second)
		}
		stop()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("it is stopped with %v", err)
	}
	for err = nil; !errors.Is(err, enough); { // and the next can be sent, once it has ended
		_, err = SendLoad(t.Context(), sender.Client(), sender.URL+LoadPath, c, func() error { return enough })
		if err == nil || !errors.Is(err, enough) && !strings.Contains(err.Error(), "another load") {
			t.Fatalf("the next: error %v", err)
		}
	}
}

// heard is a ResponseWriter that calls a function when a line with a result is written.
type heard struct {
	*httptest.ResponseRecorder
	result func()
}

func (h heard) Write(p []byte) (int, error) {
	if strings.HasPrefix(string(p), "{") {
		h.result()
	}
	return h.ResponseRecorder.Write(p)
}

// A client that has its result can send the next load at once.
func TestSendAgain(t *testing.T) {
	sender := LoadHandler()
	post := func(w http.ResponseWriter) {
		body := fmt.Sprintf(`{"targets":[%q],"rate":10,"connections":1,"duration":1000000}`, serve(t, &server{}))
		sender.ServeHTTP(w, httptest.NewRequest(http.MethodPost, LoadPath, strings.NewReader(body)))
	}
	again := httptest.NewRecorder()
	post(heard{httptest.NewRecorder(), func() { post(again) }})
	if !strings.Contains(again.Body.String(), "\n{") {
		t.Errorf("code %d: %q", again.Code, again.Body)
	}
}

func TestSendRefuses(t *testing.T) {
	good := Load{Targets: []string{"127.0.0.1:1"}, Rate: 10, Connections: 1, Duration: time.Second}
	never := func() error { t.Error("it began"); return nil }
	var refused *field.Error
	if _, err := SendLoad(t.Context(), http.DefaultClient, "", Load{}, never); !errors.As(err, &refused) || refused.Field != "Targets" {
		t.Errorf("nobody to send to: error %v", err)
	}
	for name, answer := range map[string]string{"nothing": "", "something else": "hello\n", "no ": "\n\n"} {
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) }))
		if _, err := SendLoad(t.Context(), other.Client(), other.URL, good, never); !errors.Is(err, errAnswer) {
			t.Errorf("%s: error %v", name, err)
		}
		other.Close()
	}
	for end, began := range map[string]int{"": 1, "nonsense\n": 1} {
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "\nbegan\n\n", end) }))
		if _, err := SendLoad(t.Context(), other.Client(), other.URL, good, func() error { began--; return nil }); !errors.Is(err, errAnswer) || began != 0 {
			t.Errorf("%q at the end: error %v", end, err)
		}
		other.Close()
	}
	sender := httptest.NewServer(LoadHandler())
	defer sender.Close()
	for body, code := range map[string]int{"nonsense": http.StatusBadRequest, `{"rate":-1}`: http.StatusBadRequest} {
		answer, err := http.Post(sender.URL+LoadPath, "", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != code {
			t.Errorf("%s: %s", body, answer.Status)
		}
	}
	answer, err := http.Get(sender.URL + "/ready")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Errorf("ready: %s", answer.Status)
	}
}

// As a role it prints its address, and serves until its context ends.
func TestLoadRole(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	said, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- LoadMain(ctx, nil, nil, out) }()
	address, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	c := Load{Targets: []string{serve(t, &server{})}, Rate: 100, Connections: 2, Duration: 100 * time.Millisecond, Phases: Phases{{Kind: read}}}
	r, err := SendLoad(ctx, http.DefaultClient, "http://"+strings.TrimSpace(address)+LoadPath, c, func() error { return nil })
	if err != nil || r.Requests != 10 {
		t.Errorf("%+v, error %v", r, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
