package podforward_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward"
	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward/podforwardtest"
	"github.com/spazio-scheduler/spazio/field"
)

// greeter listens on a loopback, as in a pod, and returns its address. It reports each request for
// /never, which it does not answer, and for /half, whose answer has no length and does not end, and
// again when the client has left.
func greeter(t *testing.T, never chan<- struct{}) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/half" {
			w.Header().Set("Connection", "close")
			w.Header().Set("Transfer-Encoding", "identity") // it ends with the connection
			fmt.Fprint(w, "half")
			_ = http.NewResponseController(w).Flush()
		}
		if r.URL.Path == "/never" || r.URL.Path == "/half" {
			never <- struct{}{}
			<-r.Context().Done()
			never <- struct{}{}
			return
		}
		// Like Spazio's programs it serves its loopback name only, whatever the URL is.
		if host, _, err := net.SplitHostPort(r.Host); host != "localhost" && host != "127.0.0.1" {
			t.Errorf("asked for as %q, %v", r.Host, err)
		}
		text, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		fmt.Fprintf(w, "%s %s %s", r.Method, r.URL, text)
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

// cluster is an API server that forwards port 9694 of a pod.
func cluster(t *testing.T, never chan<- struct{}) *rest.Config {
	t.Helper()
	mux := http.NewServeMux()
	podforwardtest.Forward(t, mux, "system", "pod-1", 9694, greeter(t, never))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return &rest.Config{Host: server.URL}
}

func client(t *testing.T, c podforward.Config) *http.Client {
	t.Helper()
	transport, err := podforward.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return &http.Client{Transport: transport}
}

// TestRoundTrip sends requests with a body and endless answers to the pod, one after the other and
// concurrently.
func TestRoundTrip(t *testing.T) {
	c := client(t, podforward.Config{Cluster: cluster(t, nil), Namespace: "system", Port: 9694, Find: podforward.Named("pod-1")})
	ended := make(chan error)
	const asked = 8
	for i := range asked {
		go func() {
			response, err := c.Post(fmt.Sprintf("http://any/path?i=%d", i), "text/plain", strings.NewReader("body"))
			if err != nil {
				ended <- err
				return
			}
			text, err := io.ReadAll(response.Body)
			if want := fmt.Sprintf("POST /path?i=%d body", i); string(text) != want {
				err = errors.Join(err, fmt.Errorf("answered %q, want %q", text, want))
			}
			ended <- errors.Join(err, response.Body.Close())
		}()
	}
	for range asked {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

func TestRoundTripFails(t *testing.T) {
	lost := errors.New("lost")
	config := podforward.Config{Cluster: cluster(t, nil), Namespace: "system", Port: 9694, Find: podforward.Named("pod-1")}
	for name, change := range map[string]func(*podforward.Config){
		"forward port 9694 of pod pod-2": func(c *podforward.Config) { c.Find = podforward.Named("pod-2") },
		"EOF":                            func(c *podforward.Config) { c.Port = 1 }, // no listener
		"lost": func(c *podforward.Config) {
			c.Find = func(context.Context, kubernetes.Interface, string) (string, error) { return "", lost }
		},
	} {
		c := config
		change(&c)
		response, err := client(t, c).Get("http://pod/")
		if err == nil {
			response.Body.Close()
			t.Errorf("%s: answered %s", name, response.Status)
		} else if name != "EOF" && !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A cancelled request returns an error, with or without a part of the answer, and the pod sees it.
func TestGivenUp(t *testing.T) {
	for _, tt := range []struct {
		path string
		read bool // until then it is not given up
	}{{"/never", false}, {"/half", false}, {"/half", true}} {
		asked := make(chan struct{}, 2)
		c := client(t, podforward.Config{Cluster: cluster(t, asked), Namespace: "system", Port: 9694, Find: podforward.Named("pod-1")})
		ctx, cancel := context.WithCancel(t.Context())
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://pod"+tt.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		begun := make(chan struct{})
		go func() {
			defer close(begun)
			<-asked
			if !tt.read {
				cancel()
			}
		}()
		response, err := c.Do(request)
		if tt.read {
			if err == nil {
				_, err = io.ReadFull(response.Body, make([]byte, len("half")))
			}
			if err != nil {
				t.Fatal(err)
			}
			cancel()
		}
		if err == nil {
			_, err = io.ReadAll(response.Body)
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v: %v", tt, err)
		}
		<-begun
		<-asked // it has left, before the body is closed
		if response != nil {
			response.Body.Close()
		}
	}
}

// A client that connects and leaves before forwarding begins leaves no handler.
func TestLeftBeforeStreams(t *testing.T) {
	handler := podforwardtest.Handler(t, func(*http.Request, int) string { t.Error("a port was asked for"); return "" })
	ended := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: pod\r\nConnection: Upgrade\r\nUpgrade: %s\r\n%s: %s\r\n\r\n",
		spdy.HeaderSpdy31, httpstream.HeaderProtocolVersion, portforward.PortForwardProtocolV1Name)
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil || answer.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(answer, err)
	}
	conn.Close()
	<-ended
}

// A program's answer is returned, from this machine or a pod, and one that fails is named.
func TestClient(t *testing.T) {
	program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/below/state":
			fmt.Fprintf(w, `{"of":%q}`, r.FormValue("of"))
		case "/below/long":
			_, _ = io.CopyN(w, zeros{}, 64<<20+1)
		default:
			http.Error(w, "nothing here\n", http.StatusNotFound)
		}
	}))
	t.Cleanup(program.Close)
	type state struct{ Of string }
	c, err := podforward.DirectClient(program.URL+"/below", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := podforward.Decode[state](t.Context(), c, "/state", url.Values{"of": {"a&b"}}); err != nil || got.Of != "a&b" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := c.Get(t.Context(), "/long", nil); !errors.Is(err, podforward.ErrTooLong) {
		t.Errorf("an endless answer: %v", err)
	}
	if _, err := c.Get(t.Context(), "/none", nil); err == nil || !strings.Contains(err.Error(), "404 Not Found: nothing here") {
		t.Errorf("nothing there: %v", err)
	}
	if _, err := podforward.Decode[[]int](t.Context(), c, "/state", nil); err == nil || !strings.Contains(err.Error(), "the answer to /state") {
		t.Errorf("not what was expected: %v", err)
	}
	pod, err := podforward.NewClient(podforward.Config{Cluster: cluster(t, nil), Namespace: "system", Port: 9694, Find: podforward.Named("pod-1")}, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := pod.Get(t.Context(), "/path", nil); err != nil || string(text) != "GET /path " {
		t.Errorf("%q, %v", text, err)
	}
	for _, base := range []string{"", "127.0.0.1:1", "ftp://host", "http://", "http://%"} {
		var bad *field.Error
		if _, err := podforward.DirectClient(base, 0); !errors.As(err, &bad) || bad.Value != base || !errors.Is(err, podforward.ErrInvalid) {
			t.Errorf("%q: %v", base, err)
		}
	}
	if _, err := podforward.NewClient(podforward.Config{}, 0); !errors.Is(err, podforward.ErrInvalid) {
		t.Errorf("no cluster: %v", err)
	}
}

// zeros never end.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// A request whose context ends before the API server answers ends with it, and so does the
// connection.
func TestGivenUpWhileConnecting(t *testing.T) {
	asked, left := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done() // the connection's end
		close(left)
	}))
	t.Cleanup(server.Close)
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://pod/", nil)
	if err != nil {
		t.Fatal(err)
	}
	config := podforward.Config{Cluster: &rest.Config{Host: server.URL}, Namespace: "system", Port: 9694, Find: podforward.Named("pod-1")}
	ended := make(chan error, 1)
	go func() {
		_, err := client(t, config).Do(request)
		ended <- err
	}()
	<-asked
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	<-left
}

// The API server's refusal is returned, an API error as such.
func TestRefused(t *testing.T) {
	forbidden := apierrors.NewForbidden(corev1.Resource("pods/portforward"), "pod-1", errors.New("no rights"))
	for name, test := range map[string]struct {
		code int
		body string
		is   func(error) bool
		says string
	}{
		"as the API does": {http.StatusForbidden, encode(t, forbidden.Status()), apierrors.IsForbidden, "no rights"},
		"as a proxy does": {http.StatusBadGateway, "<h1>no</h1>", func(err error) bool { return errors.Is(err, podforward.ErrRefused) }, "502 Bad Gateway <h1>no</h1>"},
		"without a word":  {http.StatusOK, "", func(err error) bool { return errors.Is(err, podforward.ErrRefused) }, "200 OK"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.code)
				fmt.Fprint(w, test.body)
			}))
			t.Cleanup(server.Close)
			config := podforward.Config{Cluster: &rest.Config{Host: server.URL}, Namespace: "system", Port: 9694, Find: podforward.Named("pod-1")}
			_, err := client(t, config).Get("http://pod/")
			if err == nil || !test.is(err) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%v", err)
			}
		})
	}
}

func encode(t *testing.T, what any) string {
	t.Helper()
	text, err := json.Marshal(what)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestFinders(t *testing.T) {
	holder := func(name, identity string) runtime.Object {
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: name}, Spec: coordinationv1.LeaseSpec{HolderIdentity: &identity}}
	}
	pod := func(name, app string, ready corev1.ConditionStatus) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "system", Name: name, Labels: map[string]string{"app": app}},
			Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: ready}}},
		}
	}
	leaving := pod("a-leaving", "two", corev1.ConditionTrue)
	now := metav1.Now()
	leaving.DeletionTimestamp, leaving.Finalizers = &now, []string{"x/y"}
	kube := fake.NewClientset(
		holder("held", "pod-b_0b3f6f0e-4f4e"), holder("plain", "pod-c"), holder("given-up", ""),
		leaving, pod("b-starting", "two", corev1.ConditionFalse), pod("c-ready", "two", corev1.ConditionTrue), pod("d-starting", "one", corev1.ConditionFalse),
	)
	for name, test := range map[string]struct {
		find podforward.Finder
		want string
		err  error
	}{
		"named":               {podforward.Named("pod-a"), "pod-a", nil},
		"leader":              {podforward.Leader("held"), "pod-b", nil},
		"leader by name":      {podforward.Leader("plain"), "pod-c", nil},
		"nobody leads":        {podforward.Leader("given-up"), "", podforward.ErrNoLeader},
		"a ready one":         {podforward.Selected("app=two", ""), "c-ready", nil},
		"the only one":        {podforward.Selected("app=one", ""), "d-starting", nil},
		"none with the label": {podforward.Selected("app=none", "node-1"), "", podforward.ErrNoPod},
	} {
		got, err := test.find(t.Context(), kube, "system")
		if got != test.want || !errors.Is(err, test.err) {
			t.Errorf("%s: %q, %v; want %q, %v", name, got, err, test.want, test.err)
		}
	}
	if _, err := podforward.Leader("none")(t.Context(), kube, "system"); err == nil || !strings.Contains(err.Error(), "find the leader") {
		t.Errorf("no such lease: %v", err)
	}
}

// TestSelectedOnANode lists only the pods of that node.
func TestSelectedOnANode(t *testing.T) {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/namespaces/system/pods", func(w http.ResponseWriter, r *http.Request) {
		pods := corev1.PodList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PodList"}}
		if r.FormValue("fieldSelector") == "spec.nodeName=node-1" && r.FormValue("labelSelector") == "app=agent" {
			pods.Items = []corev1.Pod{{ObjectMeta: metav1.ObjectMeta{Name: "agent-1"}}}
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(pods); err != nil {
			t.Error(err)
		}
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	kube, err := kubernetes.NewForConfig(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if pod, err := podforward.Selected("app=agent", "node-1")(t.Context(), kube, "system"); err != nil || pod != "agent-1" {
		t.Errorf("%q, %v", pod, err)
	}
	if _, err := podforward.Selected("app=agent", "node-2")(t.Context(), kube, "system"); !errors.Is(err, podforward.ErrNoPod) {
		t.Errorf("a node without: %v", err)
	}
}

func TestValidate(t *testing.T) {
	good := podforward.Config{Cluster: &rest.Config{}, Namespace: "n", Port: 1, Find: podforward.Named("p")}
	if _, err := podforward.New(good); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*podforward.Config){
		"Cluster":   func(c *podforward.Config) { c.Cluster = nil },
		"Namespace": func(c *podforward.Config) { c.Namespace = "" },
		"Port":      func(c *podforward.Config) { c.Port = 65536 },
		"Find":      func(c *podforward.Config) { c.Find = nil },
	} {
		c := good
		change(&c)
		_, err := podforward.New(c)
		var bad *field.Error
		if !errors.As(err, &bad) || bad.Field != name || !errors.Is(err, podforward.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
