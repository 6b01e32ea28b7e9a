package social

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// network holds all tiers in this process, and their numbers of requests.
type network struct {
	peers *directory
	asked map[string]*atomic.Int64
	front string
}

func newNetwork(t *testing.T) *network {
	t.Helper()
	n := &network{peers: &directory{}, asked: map[string]*atomic.Int64{}}
	replicas := map[string][]string{}
	for _, tier := range Tiers() {
		s, err := newServer(tier, n.peers)
		if err != nil {
			t.Fatal(err)
		}
		n.asked[tier] = &atomic.Int64{}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			n.asked[tier].Add(1)
			s.ServeHTTP(w, r)
		}))
		t.Cleanup(server.Close)
		replicas[tier] = []string{strings.TrimPrefix(server.URL, "http://")}
	}
	n.front = replicas[Front][0]
	n.peers.set(replicas)
	return n
}

func get(t *testing.T, address, op string) (int, string) {
	t.Helper()
	answer, err := http.Get("http://" + address + "/" + op)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// An operation passes the tiers that the package's comment lists.
func TestOperationsPassTheirTiers(t *testing.T) {
	for op, want := range map[string]map[string]int64{
		"read":    {"front": 1, "home-timeline": 1, "graph": 1, "post": 1, "user": 1, "media": 1},
		"compose": {"front": 1, "compose": 1, "text": 1, "url": 1, "user": 1, "media": 1, "post": 1, "home-timeline": 1, "graph": 1},
	} {
		n := newNetwork(t)
		if code, text := get(t, n.front, op); code != http.StatusOK || text != "front\n" {
			t.Errorf("%s: %d %s", op, code, text)
		}
		got := map[string]int64{}
		for tier, asked := range n.asked {
			if c := asked.Load(); c > 0 {
				got[tier] = c
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", op, diff)
		}
	}
}

// For a missing callee another replica is called; without one the answer names it.
func TestGoneReplicas(t *testing.T) {
	n := newNetwork(t)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	address := strings.TrimPrefix(gone.URL, "http://")
	replicas := map[string][]string{"home-timeline": {address, address}}
	front, err := newServer(Front, n.peers)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(front)
	defer server.Close()
	n.peers.set(replicas)
	if code, text := get(t, strings.TrimPrefix(server.URL, "http://"), "read"); code != http.StatusBadGateway || !strings.Contains(text, "home-timeline") {
		t.Errorf("%d %s", code, text)
	}
	n.peers.set(nil)
	if code, text := get(t, strings.TrimPrefix(server.URL, "http://"), "read"); code != http.StatusBadGateway || !strings.Contains(text, "no replica is known: home-timeline") {
		t.Errorf("%d %s", code, text)
	}
	one := newNetwork(t)
	alive, err := one.peers.nextOf("home-timeline")
	if err != nil {
		t.Fatal(err)
	}
	n.peers.set(map[string][]string{"home-timeline": {address, alive}})
	for range 4 {
		if code, text := get(t, strings.TrimPrefix(server.URL, "http://"), "read"); code != http.StatusOK {
			t.Errorf("%d %s", code, text)
		}
	}
}

func TestUnknownOperation(t *testing.T) {
	n := newNetwork(t)
	for _, op := range []string{"", "delete", "read/x"} {
		if code, _ := get(t, n.front, op); code != http.StatusNotFound {
			t.Errorf("%q: %d", op, code)
		}
	}
	if code, _ := get(t, n.front, "ready"); code != http.StatusOK {
		t.Errorf("ready: %d", code)
	}
}

func TestDirectory(t *testing.T) {
	d := &directory{}
	if _, err := d.nextOf("post"); !errors.Is(err, errNoReplica) {
		t.Errorf("nobody known: %v", err)
	}
	d.set(map[string][]string{"post": {"a", "b", "c"}})
	var got []string
	for range 6 {
		next, err := d.nextOf("post")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, next)
	}
	slices.Sort(got)
	if diff := cmp.Diff([]string{"a", "a", "b", "b", "c", "c"}, got); diff != "" {
		t.Errorf("six turns (-want +got):\n%s", diff)
	}
	services, err := newServices("*.social:8080")
	if err != nil {
		t.Fatal(err)
	}
	if got, err := services.nextOf("post"); got != "post.social:8080" || err != nil {
		t.Errorf("a service: %q, %v", got, err)
	}
	for _, bad := range []string{"", "a:80", "*.*:80"} {
		if _, err := newServices(bad); err == nil {
			t.Errorf("services %q: no error", bad)
		}
	}
}

// A replica prints its address, reads those of others from its input and ends with it.
func TestRole(t *testing.T) {
	n := newNetwork(t)
	callee, err := n.peers.nextOf("home-timeline")
	if err != nil {
		t.Fatal(err)
	}
	in, feed := io.Pipe()
	said, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- Main(context.Background(), []string{"--tier", "front"}, in, out)
	}()
	address, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address = strings.TrimSpace(address)
	line, err := json.Marshal(map[string][]string{"home-timeline": {callee}})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(feed, "%s\n{}\n%s\n", line, line) // a pipe's write returns when it has been read
	for {
		if code, text := get(t, address, "read"); code == http.StatusOK {
			break
		} else if code != http.StatusBadGateway {
			t.Fatalf("%d %s", code, text)
		}
	}
	if err := feed.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("it ends with %v", err)
	}
}

func TestRoleRefuses(t *testing.T) {
	for _, test := range []struct {
		args []string
		in   string
	}{
		{[]string{"--tier", "cellar"}, ""}, {[]string{"--services", "x"}, ""}, {[]string{"--no-such"}, ""},
		{[]string{"--tier", "front"}, "nonsense\n"},
	} {
		in := io.MultiReader(strings.NewReader(test.in), forever{})
		if err := Main(t.Context(), test.args, in, io.Discard); err == nil {
			t.Errorf("%v with %q: no error", test.args, test.in)
		}
	}
}

// forever is an input that neither returns data nor ends.
type forever struct{}

func (forever) Read([]byte) (int, error) { select {} }

// Replicas can be replaced during requests.
func TestDirectoryUnderFire(t *testing.T) {
	n := newNetwork(t)
	address, err := n.peers.nextOf("user")
	if err != nil {
		t.Fatal(err)
	}
	var users sync.WaitGroup
	for range 4 {
		users.Go(func() {
			for range 100 {
				n.peers.set(map[string][]string{"user": {address}})
				if got, err := n.peers.nextOf("user"); got != address || err != nil {
					t.Error(got, err)
				}
			}
		})
	}
	users.Wait()
}
