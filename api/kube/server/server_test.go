package server_test

import (
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/api/kube/server"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/field"
)

// models answers a push with the caller's node.
type models struct {
	spaziov1.UnimplementedModelServiceServer
	pushing chan struct{} // if set, a push waits for the call's end
}

func (m models) Push(ctx context.Context, _ *spaziov1.PushRequest) (*spaziov1.PushResponse, error) {
	if m.pushing != nil {
		close(m.pushing)
		<-ctx.Done()
		return nil, ctx.Err()
	}
	caller, err := server.CallerFrom(ctx)
	if err != nil {
		return nil, err
	}
	return &spaziov1.PushResponse{Global: &spaziov1.GlobalModel{Schema: caller.Node}}, nil
}

// run serves until the returned function is called, or the test ends.
func run(t *testing.T, s *server.Server) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

func dial(t *testing.T, s *server.Server, c transport.Config, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	own, err := transport.DialOptions(s.Addr().String(), c)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient(s.Addr().String(), append(own, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn
}

// TestHealth: a server is not serving until it is set to.
func TestHealth(t *testing.T) {
	s, err := server.New(t.Context(), server.Config{Listen: transporttest.Address(t)})
	if err != nil {
		t.Fatal(err)
	}
	spaziov1.RegisterModelServiceServer(s, models{})
	stop := run(t, s)
	conn := dial(t, s, transport.Config{})
	check := func(want grpc_health_v1.HealthCheckResponse_ServingStatus) {
		t.Helper()
		answer, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{})
		if err != nil || answer.GetStatus() != want {
			t.Errorf("got health %v (%v), want %v", answer, err, want)
		}
	}
	check(grpc_health_v1.HealthCheckResponse_NOT_SERVING)
	s.SetServing()
	check(grpc_health_v1.HealthCheckResponse_SERVING)
	if _, err := spaziov1.NewModelServiceClient(conn).Push(t.Context(), &spaziov1.PushRequest{}); err == nil {
		t.Error("got an identified caller without authentication")
	}
	stop()
	again, err := server.New(t.Context(), server.Config{Listen: s.Addr().String()})
	if err != nil {
		t.Fatalf("the port is not free: %v", err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	if err := again.Run(t.Context()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Run after Close: got %v", err)
	}
}

// TestWatchersAreNotifiedOfTheEnd, unless the machine is too slow for it within the grace.
func TestWatchersAreNotifiedOfTheEnd(t *testing.T) {
	const tries = 10
	for try := 1; ; try++ {
		s, err := server.New(t.Context(), server.Config{Listen: "127.0.0.1:0"})
		if err != nil {
			t.Fatal(err)
		}
		s.SetServing()
		stop := run(t, s)
		watch, err := grpc_health_v1.NewHealthClient(dial(t, s, transport.Config{})).Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{})
		if err != nil {
			t.Fatal(err)
		}
		if answer, err := watch.Recv(); err != nil || answer.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
			t.Fatalf("got watch %v (%v)", answer, err)
		}
		stop()
		answer, err := watch.Recv()
		if err == nil && answer.GetStatus() == grpc_health_v1.HealthCheckResponse_NOT_SERVING {
			return
		}
		if err == nil || try == tries {
			t.Fatalf("at the end: got watch %v (%v)", answer, err)
		}
	}
}

// TestEndsWithCallsInProgress, which get a grace period only.
func TestEndsWithCallsInProgress(t *testing.T) {
	s, err := server.New(t.Context(), server.Config{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	m := models{pushing: make(chan struct{})}
	spaziov1.RegisterModelServiceServer(s, m)
	stop := run(t, s)
	conn := dial(t, s, transport.Config{})
	ended := make(chan error, 1)
	go func() {
		_, err := spaziov1.NewModelServiceClient(conn).Push(t.Context(), &spaziov1.PushRequest{})
		ended <- err
	}()
	<-m.pushing
	stop()
	if err := <-ended; err == nil {
		t.Error("a call that never ends was answered")
	}
}

// reviews accepts the tokens of one account, each for the node that it names.
type reviews struct{ account string }

func (r reviews) Create(_ context.Context, review *authenticationv1.TokenReview, _ metav1.CreateOptions) (*authenticationv1.TokenReview, error) {
	review = review.DeepCopy()
	review.Status = authenticationv1.TokenReviewStatus{
		Authenticated: true, Audiences: review.Spec.Audiences,
		User: authenticationv1.UserInfo{
			Username: "system:serviceaccount:" + r.account,
			Extra:    map[string]authenticationv1.ExtraValue{"authentication.kubernetes.io/node-name": {"node-1"}},
		},
	}
	return review, nil
}

// token returns the option of a client with a token for the audience.
func token(t *testing.T, audience string) grpc.DialOption {
	t.Helper()
	claims := fmt.Sprintf(`{"aud":[%q],"sub":"system:serviceaccount:spazio-agent:agent","exp":4000000000,"kubernetes.io":{"node":{"name":"node-1"}}}`, audience)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("e30."+base64.RawURLEncoding.EncodeToString([]byte(claims))+".sig"), 0o600); err != nil {
		t.Fatal(err)
	}
	return transport.Token(file)
}

// TestCallersByToken are identified by the node in the token.
func TestCallersByToken(t *testing.T) {
	tls := transporttest.SelfSigned(t, "127.0.0.1")
	s, err := server.New(t.Context(), server.Config{
		Listen: "127.0.0.1:0", Transport: transport.Config{CertFile: tls.CertFile, KeyFile: tls.KeyFile},
		ServiceAccount: "spazio-agent/agent", Audience: "models", Reviews: reviews{"spazio-agent:agent"},
	})
	if err != nil {
		t.Fatal(err)
	}
	spaziov1.RegisterModelServiceServer(s, models{})
	run(t, s)
	trusting := transport.Config{CAFile: tls.CAFile}
	for name, test := range map[string]struct {
		options []grpc.DialOption
		want    codes.Code
		node    string
	}{
		"an agent":         {[]grpc.DialOption{token(t, "models")}, codes.OK, "node-1"},
		"no token":         {nil, codes.Unauthenticated, ""},
		"others' audience": {[]grpc.DialOption{token(t, "profiles")}, codes.Unauthenticated, ""},
	} {
		answer, err := spaziov1.NewModelServiceClient(dial(t, s, trusting, test.options...)).Push(t.Context(), &spaziov1.PushRequest{})
		if status.Code(err) != test.want || answer.GetGlobal().GetSchema() != test.node {
			t.Errorf("%s: %v, %v", name, answer, err)
		}
	}
	shows(t, s, callers+fmt.Sprintf(certificate, endOf(t, tls.CertFile).Unix()))
	if err := os.Remove(tls.CertFile); err != nil { // files are read at each scrape
		t.Fatal(err)
	}
	shows(t, s, callers)
}

// callers and certificate are the metrics of TestCallersByToken.
const (
	callers = `
# HELP spazio_identities_total Calls by the result of identifying the caller; unknown if the API server could not be asked, throttled if it was not asked.
# TYPE spazio_identities_total counter
spazio_identities_total{result="accepted"} 1
spazio_identities_total{result="refused"} 2
spazio_identities_total{result="throttled"} 0
spazio_identities_total{result="unknown"} 0
# HELP spazio_models_refused_callers_total Connections closed because there were too many of them, or of calls.
# TYPE spazio_models_refused_callers_total counter
spazio_models_refused_callers_total{cause="calls"} 0
spazio_models_refused_callers_total{cause="connections"} 0
`
	certificate = `
# HELP spazio_certificate_not_after_seconds When a certificate in the process's files ends, in seconds since 1970: its own, or of the authorities of servers or clients the first.
# TYPE spazio_certificate_not_after_seconds gauge
spazio_certificate_not_after_seconds{use="own"} %d
`
)

// shows checks that a server of models exports these metrics and no others.
func shows(t *testing.T, s *server.Server, metrics string) {
	t.Helper()
	if err := testutil.CollectAndCompare(s.Collector("models"), strings.NewReader(metrics)); err != nil {
		t.Error(err)
	}
}

// TestCallersByCertificate: a certificate of the clients' authority identifies an agent, of any node,
// and one with the service's name a replica.
func TestCallersByCertificate(t *testing.T) {
	tls := transporttest.SelfSigned(t, "127.0.0.1", "models.example")
	serving := transport.Config{CertFile: tls.CertFile, KeyFile: tls.KeyFile, ClientCAFile: tls.CAFile}
	for _, peers := range [][]string{{"models.example"}, {"others.example"}} {
		s, err := server.New(t.Context(), server.Config{Listen: "127.0.0.1:0", Transport: serving, Peers: peers})
		if err != nil {
			t.Fatal(err)
		}
		spaziov1.RegisterModelServiceServer(s, models{})
		spaziov1.RegisterPeerServiceServer(s, spaziov1.UnimplementedPeerServiceServer{})
		stop := run(t, s)
		conn := dial(t, s, tls)
		if answer, err := spaziov1.NewModelServiceClient(conn).Push(t.Context(), &spaziov1.PushRequest{}); err != nil || answer.GetGlobal().GetSchema() != "" {
			t.Errorf("a push: %v, %v", answer, err)
		}
		stream, err := spaziov1.NewPeerServiceClient(conn).Changes(t.Context(), &spaziov1.ChangesRequest{})
		if err == nil {
			_, err = stream.Recv()
		}
		want := codes.Unimplemented // an authorized caller gets Unimplemented
		if peers[0] != "models.example" {
			want = codes.PermissionDenied
		}
		if status.Code(err) != want {
			t.Errorf("exchange with replicas %v: got %v, want %v", peers, err, want)
		}
		stop()
	}
}

func TestRefusals(t *testing.T) {
	tls := transporttest.SelfSigned(t, "127.0.0.1")
	serving := transport.Config{CertFile: tls.CertFile, KeyFile: tls.KeyFile}
	for name, c := range map[string]server.Config{
		"CertFile":       {Transport: transport.Config{CertFile: "x"}},
		"Calls":          {Limits: transport.Limits{Calls: -1}},
		"ServiceAccount": {ServiceAccount: "a/b", Reviews: reviews{}},
		"Peers":          {ServiceAccount: "a/b", Reviews: reviews{}, Transport: serving, Peers: []string{"x"}},
		"Reviews":        {ServiceAccount: "a/b", Transport: serving},
	} {
		c.Listen = "127.0.0.1:0"
		var bad *field.Error
		if _, err := server.New(t.Context(), c); !errors.As(err, &bad) || bad.Field != name || !errors.Is(err, transport.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, account := range []string{"a", "/b", "a/", "a/b/c"} {
		err := server.Config{ServiceAccount: account, Transport: serving}.Validate()
		if bad := (*field.Error)(nil); !errors.As(err, &bad) || bad.Value != account {
			t.Errorf("account %q: %v", account, err)
		}
	}
	plaintext, unauthenticated := (*transport.PlaintextError)(nil), (*transport.UnauthenticatedError)(nil)
	if _, err := server.New(t.Context(), server.Config{Listen: ":0"}); !errors.As(err, &plaintext) {
		t.Errorf("beyond loopback in plaintext: got %v", err)
	}
	if _, err := server.New(t.Context(), server.Config{Listen: ":0", Transport: serving}); !errors.As(err, &unauthenticated) {
		t.Errorf("beyond loopback without authentication: got %v", err)
	}
}

// endOf returns when the certificate in a file expires.
func endOf(t *testing.T, file string) time.Time {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(text)
	certificate, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return certificate.NotAfter
}
