package server_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/spazio-scheduler/spazio/external/server/servertest"
)

// stalled is a body that never arrives.
type stalled struct {
	begun sync.Once
	read  func()
	end   chan struct{}
}

func (s *stalled) Read([]byte) (int, error) {
	s.begun.Do(s.read)
	<-s.end
	return 0, io.ErrUnexpectedEOF
}

// TestBodiesThatDoNotCome: a caller who sends none of its bodies keeps at most 32 requests open,
// and blocks no other caller.
func TestBodiesThatDoNotCome(t *testing.T) {
	b := servertest.Start(t, unlimited)
	b.Fill()
	put := func(token string, body io.Reader) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPut, "/external/v1/namespaces/team/jobs/job-a/external", body)
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		answer := httptest.NewRecorder()
		b.Server.ServeHTTP(answer, r)
		return answer
	}
	var begun, ended sync.WaitGroup
	end := make(chan struct{})
	for range 32 {
		begun.Add(1)
		ended.Go(func() { put(servertest.Team, &stalled{read: begun.Done, end: end}) })
	}
	begun.Wait()
	if answer := put(servertest.Team, strings.NewReader("{}")); answer.Code != http.StatusTooManyRequests || answer.Header().Get("Retry-After") == "" {
		t.Errorf("one more: %d %s", answer.Code, answer.Body)
	}
	if answer := put(servertest.Admin, strings.NewReader("{}")); answer.Code != http.StatusOK {
		t.Errorf("another caller: %d %s", answer.Code, answer.Body)
	}
	close(end)
	ended.Wait()
	if answer := put(servertest.Team, strings.NewReader("{}")); answer.Code != http.StatusOK {
		t.Errorf("after they have ended: %d %s", answer.Code, answer.Body)
	}
}
