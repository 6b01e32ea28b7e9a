package transport_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/field"
)

// authority issues certificates for 127.0.0.1.
type authority struct {
	dir, name, file string
	cert            *x509.Certificate
	key             *ecdsa.PrivateKey
}

func newAuthority(t testing.TB, name string) authority {
	t.Helper()
	a := authority{dir: t.TempDir(), name: name}
	a.cert, a.key, a.file, _ = a.issue(t, name, true)
	return a
}

// issue writes a certificate and key and returns them with their files.
func (a authority) issue(t testing.TB, name string, isCA bool) (*x509.Certificate, *ecdsa.PrivateKey, string, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()),
		Subject:      pkix.Name{CommonName: name},
		NotBefore:    time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses:           []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		BasicConstraintsValid: true, IsCA: isCA,
	}
	parent, signer := template, key
	if !isCA {
		parent, signer = a.cert, a.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	certFile, keyFile := filepath.Join(a.dir, name+".crt"), filepath.Join(a.dir, name+".key")
	for file, block := range map[string]*pem.Block{certFile: {Type: "CERTIFICATE", Bytes: der}, keyFile: {Type: "PRIVATE KEY", Bytes: private}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key, certFile, keyFile
}

func (a authority) config(t testing.TB, name string) transport.Config {
	t.Helper()
	_, _, cert, key := a.issue(t, name, false)
	return transport.Config{CertFile: cert, KeyFile: key, CAFile: a.file, ClientCAFile: a.file}
}

// models answers every push with the node's name as schema.
type models struct {
	spaziov1.UnimplementedModelServiceServer
}

func (models) Push(_ context.Context, r *spaziov1.PushRequest) (*spaziov1.PushResponse, error) {
	return &spaziov1.PushResponse{Global: &spaziov1.GlobalModel{Schema: r.GetLocal().GetNode()}}, nil
}

// call starts a server on loopback and pushes to it once.
func call(t *testing.T, server, client transport.Config) error {
	t.Helper()
	target, stop := listen(t, server, models{})
	defer stop()
	options, err := transport.DialOptions(target, client)
	if err != nil {
		t.Fatal(err)
	}
	return push(t, target, options)
}

// listen starts a server on loopback.
func listen(t testing.TB, c transport.Config, service spaziov1.ModelServiceServer) (target string, stop func()) {
	t.Helper()
	target, _, stop = listenWithin(t, transport.Limits{}, c, service)
	return target, stop
}

// listenWithin starts a server with the given limits.
func listenWithin(t testing.TB, l transport.Limits, c transport.Config, service spaziov1.ModelServiceServer) (target string, guard *transport.ConnLimiter, stop func()) {
	t.Helper()
	guard, err := transport.NewConnLimiter(l)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := guard.Listen(t.Context(), "127.0.0.1:0", c)
	if err != nil {
		t.Fatal(err)
	}
	options, err := guard.ServerOptions(c)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(options...)
	spaziov1.RegisterModelServiceServer(s, service)
	served := make(chan error, 1)
	go func() { served <- s.Serve(listener) }()
	return listener.Addr().String(), guard, func() {
		s.Stop()
		if err := <-served; err != nil && !errors.Is(err, grpc.ErrServerStopped) { // stopped before it began
			t.Errorf("Serve: %v", err)
		}
	}
}

// push opens a connection and pushes once.
func push(t testing.TB, target string, options []grpc.DialOption) error {
	t.Helper()
	connection, err := grpc.NewClient(target, options...)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	response, err := spaziov1.NewModelServiceClient(connection).Push(t.Context(), &spaziov1.PushRequest{Local: &spaziov1.LocalModel{Node: "n"}})
	if err == nil && response.GetGlobal().GetSchema() != "n" {
		t.Errorf("got answer %v", response)
	}
	return err
}

func TestConnections(t *testing.T) {
	ours, theirs := newAuthority(t, "ours"), newAuthority(t, "theirs")
	server, client := ours.config(t, "server"), ours.config(t, "client")
	foreign := theirs.config(t, "foreign")
	oneSided := transport.Config{CertFile: server.CertFile, KeyFile: server.KeyFile}

	for _, tt := range []struct {
		name           string
		server, client transport.Config
		fails          bool
	}{
		{"plaintext", transport.Config{}, transport.Config{}, false},
		{"mutual", server, client, false},
		{"server certificate alone", oneSided, transport.Config{CAFile: ours.file}, false},
		{"client without certificate", server, transport.Config{CAFile: ours.file}, true},
		{"client of another authority", server, transport.Config{CertFile: foreign.CertFile, KeyFile: foreign.KeyFile, CAFile: ours.file}, true},
		{"server of another authority", foreign, client, true},
		{"plaintext client, TLS server", server, transport.Config{}, true},
		{"TLS client, plaintext server", transport.Config{}, client, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := call(t, tt.server, tt.client)
			if tt.fails != (status.Code(err) == codes.Unavailable) || !tt.fails && err != nil {
				t.Errorf("Push: %v, want failure %v", err, tt.fails)
			}
		})
	}
}

// replace replaces the files of a config by another's, each atomically.
func replace(t *testing.T, old, with transport.Config) {
	t.Helper()
	for _, files := range [][2]string{{with.CertFile, old.CertFile}, {with.KeyFile, old.KeyFile}, {with.CAFile, old.CAFile}} { // old.ClientCAFile is old.CAFile
		text, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		fresh := files[1] + ".new"
		if err := os.WriteFile(fresh, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(fresh, files[1]); err != nil {
			t.Fatal(err)
		}
	}
}

// shown answers every push with the token that came with it.
type shown struct {
	spaziov1.UnimplementedModelServiceServer
}

func (shown) Push(ctx context.Context, _ *spaziov1.PushRequest) (*spaziov1.PushResponse, error) {
	token := strings.Join(metadata.ValueFromIncomingContext(ctx, "authorization"), "+")
	return &spaziov1.PushResponse{Global: &spaziov1.GlobalModel{Schema: token}}, nil
}

// TestToken: the token file is read for each call.
func TestToken(t *testing.T) {
	identity := transporttest.SelfSigned(t, "127.0.0.1")
	target, stop := listen(t, transport.Config{CertFile: identity.CertFile, KeyFile: identity.KeyFile}, shown{})
	defer stop()
	options, err := transport.DialOptions(target, transport.Config{CAFile: identity.CAFile})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "token")
	connection, err := grpc.NewClient(target, append(options, transport.Token(file))...)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	for _, test := range []struct{ text, want string }{{"first\n", "Bearer first"}, {"second", "Bearer second"}, {" \n", ""}} {
		if err := os.WriteFile(file, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		response, err := spaziov1.NewModelServiceClient(connection).Push(t.Context(), &spaziov1.PushRequest{})
		if got := response.GetGlobal().GetSchema(); got != test.want || (status.Code(err) == codes.Unauthenticated) != (test.want == "") {
			t.Errorf("file %q: got token %q (%v), want %q", test.text, got, err, test.want)
		}
	}
}

// apart gives a config its own copy of the authorities.
func apart(t testing.TB, c transport.Config) transport.Config {
	t.Helper()
	original := c.CAFile
	c.CAFile = filepath.Join(t.TempDir(), "ca.crt")
	c.ClientCAFile = c.CAFile
	if err := os.Link(original, c.CAFile); err != nil {
		t.Fatal(err)
	}
	return c
}

// TestRotation changes the files of a server and a client that keep their options.
func TestRotation(t *testing.T) {
	before, after := newAuthority(t, "before"), newAuthority(t, "after")
	server, client := apart(t, before.config(t, "server")), apart(t, before.config(t, "client"))
	target, stop := listen(t, server, models{})
	defer stop()
	options, err := transport.DialOptions(target, client)
	if err != nil {
		t.Fatal(err)
	}
	succeeds := func(when string) {
		t.Helper()
		if err := push(t, target, options); err != nil {
			t.Errorf("%s: %v", when, err)
		}
	}
	succeeds("at first")
	replace(t, server, after.config(t, "server"))
	if err := push(t, target, options); status.Code(err) != codes.Unavailable {
		t.Errorf("client of the former authority: got %v", err)
	}
	replace(t, client, after.config(t, "client"))
	succeeds("both rotated")
	for _, file := range []string{server.KeyFile, client.CertFile, client.CAFile} {
		if err := os.WriteFile(file, []byte("half a file"), 0o600); err != nil {
			t.Fatal(err)
		}
		succeeds("while " + filepath.Base(file) + " is being written")
	}
	if err := os.Remove(server.CertFile); err != nil {
		t.Fatal(err)
	}
	succeeds("while the server's certificate is missing")
	replace(t, server, before.config(t, "server again"))
	replace(t, client, before.config(t, "client again"))
	succeeds("rotated back")
}

// resumed answers every push with whether its TLS session was resumed, and the caller's name.
type resumed struct {
	spaziov1.UnimplementedModelServiceServer
}

func (resumed) Push(ctx context.Context, _ *spaziov1.PushRequest) (*spaziov1.PushResponse, error) {
	p, _ := peer.FromContext(ctx)
	info, _ := p.AuthInfo.(credentials.TLSInfo)
	return &spaziov1.PushResponse{Global: &spaziov1.GlobalModel{Schema: fmt.Sprint(info.State.DidResume, " ", transport.Certificate(ctx).Subject.CommonName)}}, nil
}

// TestResumption: a returning client resumes its TLS session unless its files, or the server's, have
// changed.
func TestResumption(t *testing.T) {
	ours := newAuthority(t, "ours")
	server, client := apart(t, ours.config(t, "server")), apart(t, ours.config(t, "client"))
	target, stop := listen(t, server, resumed{})
	defer stop()
	options, err := transport.DialOptions(target, client)
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		when   string
		change func()
		want   string
	}{
		{"at first", func() {}, "false client"},
		{"again", func() {}, "true client"},
		{"with another certificate of the server", func() { replace(t, server, ours.config(t, "server 2")) }, "false client"},
		{"then", func() {}, "true client"},
		{"and then", func() {}, "true client"},
		{"with another certificate of the client", func() { replace(t, client, ours.config(t, "client 2")) }, "false client 2"},
		{"at last", func() {}, "true client 2"},
	} {
		step.change()
		connection, err := grpc.NewClient(target, options...)
		if err != nil {
			t.Fatal(err)
		}
		response, err := spaziov1.NewModelServiceClient(connection).Push(t.Context(), &spaziov1.PushRequest{})
		if got := response.GetGlobal().GetSchema(); got != step.want || err != nil {
			t.Errorf("%s: %q (%v), want %q", step.when, got, err, step.want)
		}
		connection.Close()
	}
}

// TestServerTLSRotates for servers without gRPC.
func TestServerTLSRotates(t *testing.T) {
	a := newAuthority(t, "ca")
	c := a.config(t, "server")
	c.ClientCAFile = ""
	config, err := transport.ServerTLS(c)
	if err != nil {
		t.Fatal(err)
	}
	presented := func() []byte {
		t.Helper()
		current, err := config.GetConfigForClient(nil)
		if err != nil {
			t.Fatal(err)
		}
		return current.Certificates[0].Certificate[0]
	}
	first := presented()
	if again := presented(); !bytes.Equal(first, again) {
		t.Error("got another certificate without a change of the files")
	}
	with := a.config(t, "next")
	c.CAFile = filepath.Join(t.TempDir(), "unused")
	replace(t, c, with)
	if bytes.Equal(first, presented()) {
		t.Error("got the former certificate")
	}
}

func TestListenPolicy(t *testing.T) {
	ca := newAuthority(t, "ca")
	withTLS := ca.config(t, "server")
	for _, tt := range []struct {
		addr    string
		config  transport.Config
		refused bool
	}{
		{"127.0.0.1:0", transport.Config{}, false},
		{"localhost:0", transport.Config{}, false},
		{":0", transport.Config{}, true},
		{"0.0.0.0:0", transport.Config{}, true},
		{"[::]:0", transport.Config{}, true},
		{"192.0.2.1:9690", transport.Config{}, true},
		{"0.0.0.0:0", transport.Config{Insecure: true}, false},
		{"0.0.0.0:0", withTLS, false},
	} {
		listener, err := transport.Listen(t.Context(), tt.addr, tt.config)
		var refusal *transport.PlaintextError
		if errors.As(err, &refusal) != tt.refused || !tt.refused && err != nil {
			t.Errorf("Listen(%q, %+v): %v, want refusal %v", tt.addr, tt.config, err, tt.refused)
		}
		if tt.refused && (refusal.Addr != tt.addr || strings.Contains(err.Error(), "\n")) {
			t.Errorf("Listen(%q): %q", tt.addr, err)
		}
		if err == nil {
			listener.Close()
		}
	}
	if _, err := transport.Listen(t.Context(), "127.0.0.1", transport.Config{}); err == nil {
		t.Error("an address without a port was accepted")
	}
}

func TestDialPolicy(t *testing.T) {
	for _, tt := range []struct {
		target  string
		refused bool
	}{
		{"127.0.0.1:9690", false},
		{"127.8.9.1:9690", false},
		{"localhost:9690", false},
		{"LOCALHOST:9690", false},
		{"[::1]:9690", false},
		{"[::ffff:127.0.0.1]:9690", false},
		{"dns:///localhost:9690", false},
		{"dns:localhost:9690", false},
		{"dns://192.0.2.1/localhost:9690", false},
		{"passthrough:///127.0.0.1:9690", false},
		{"passthrough:///[::1]:9690", false},
		{"ipv4:127.0.0.1:1,127.0.0.1:2", false},
		{"ipv4:127.0.0.1:1,192.0.2.1:2", true},
		{"unix:///run/spazio.sock", false},
		{"unix:relative.sock", false},
		{"10.0.0.1:9690", true},
		{"aggregator:9692", true},
		{"dns:///aggregator:9692", true},
		{"passthrough:///aggregator:9692", true},
		{"localhost.example.com:9690", true},
		{"127.0.0.1.example.com:9690", true},
		{"xds:///localhost", true},
		{"[::]:9690", true},
		{"", true},
	} {
		_, err := transport.DialOptions(tt.target, transport.Config{})
		var refusal *transport.PlaintextError
		if errors.As(err, &refusal) != tt.refused || !tt.refused && err != nil {
			t.Errorf("DialOptions(%q): %v, want refusal %v", tt.target, err, tt.refused)
		}
		if _, err := transport.DialOptions(tt.target, transport.Config{Insecure: true}); err != nil {
			t.Errorf("DialOptions(%q) with Insecure: %v", tt.target, err)
		}
	}
}

func TestFieldErrors(t *testing.T) {
	ca := newAuthority(t, "ca")
	good := ca.config(t, "server")
	garbage := filepath.Join(t.TempDir(), "garbage")
	if err := os.WriteFile(garbage, []byte("not PEM"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		config transport.Config
		which  string
	}{
		{"certificate without key", transport.Config{CertFile: good.CertFile}, "CertFile"},
		{"key without certificate", transport.Config{KeyFile: good.KeyFile}, "KeyFile"},
		{"insecure with certificate", transport.Config{CertFile: good.CertFile, KeyFile: good.KeyFile, Insecure: true}, "Insecure"},
		{"insecure with authority", transport.Config{CAFile: good.CAFile, Insecure: true}, "Insecure"},
		{"insecure with clients' authority", transport.Config{ClientCAFile: good.CAFile, Insecure: true}, "Insecure"},
		{"authority without certificate", transport.Config{ClientCAFile: good.CAFile}, "ClientCAFile"},
		{"missing files", transport.Config{CertFile: "/nonexistent/a", KeyFile: "/nonexistent/b"}, "CertFile"},
		{"garbage certificate", transport.Config{CertFile: garbage, KeyFile: garbage}, "CertFile"},
		{"missing authority", transport.Config{CertFile: good.CertFile, KeyFile: good.KeyFile, ClientCAFile: "/nonexistent/ca"}, "ClientCAFile"},
		{"garbage authority", transport.Config{CertFile: good.CertFile, KeyFile: good.KeyFile, ClientCAFile: garbage}, "ClientCAFile"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			guard, err := transport.NewConnLimiter(transport.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			_, err = guard.ServerOptions(tt.config)
			var bad *field.Error
			if !errors.As(err, &bad) || bad.Field != tt.which {
				t.Errorf("ServerOptions: %v, want a *field.Error of %s", err, tt.which)
			}
		})
	}
	if _, err := transport.DialOptions("127.0.0.1:1", transport.Config{CAFile: garbage}); err == nil {
		t.Error("a client accepted a garbage CA file")
	}
	missing := transport.Config{CAFile: "/nonexistent/ca"}
	if _, err := transport.DialOptions("127.0.0.1:1", missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("DialOptions: %v, want it to wrap os.ErrNotExist", err)
	}
}

func Example() {
	_, err := transport.Listen(context.Background(), ":9690", transport.Config{})
	fmt.Println(err)
	listener, err := transport.Listen(context.Background(), "127.0.0.1:0", transport.Config{})
	fmt.Println(listener.Addr().Network(), err)
	listener.Close()
	// Output:
	// transport: refusing to listen on ":9690" in plaintext: use a loopback address, give TLS files, or allow it with insecure
	// tcp <nil>
}

// TestQuota: a released unit can be acquired again, once, by a caller below its own limit.
func TestQuota(t *testing.T) {
	here, there := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	q := transport.NewQuota(4, 3)
	for i, step := range []struct {
		release bool
		addr    netip.Addr
		granted bool
		held    int
	}{
		{addr: here, granted: true, held: 1}, {addr: here, granted: true, held: 2}, {addr: here, granted: true, held: 3},
		{addr: here, held: 3}, {addr: there, granted: true, held: 4}, {addr: there, held: 4},
		{release: true, addr: here, held: 3}, {addr: here, granted: true, held: 4},
		{release: true, addr: there, held: 3}, {addr: here, held: 3}, {addr: there, granted: true, held: 4},
	} {
		granted := false
		if step.release {
			q.Release(step.addr)
		} else {
			granted = q.Acquire(step.addr)
		}
		if granted != step.granted || q.Held() != step.held {
			t.Fatalf("step %d, %+v: granted %v, %d held", i, step, granted, q.Held())
		}
	}
	if new(transport.Quota).Acquire(here) {
		t.Error("the zero value granted a unit")
	}
}

// TestCaller: for an IPv6 address only the network half counts, since its owner chooses the rest; for
// an IPv4 address all of it counts, in any notation.
func TestCaller(t *testing.T) {
	caller := func(a net.Addr) netip.Addr {
		return transport.CallerAddr(peer.NewContext(t.Context(), &peer.Peer{Addr: a}))
	}
	tcp := func(ip string, port uint16) net.Addr {
		return net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(ip), port))
	}
	for _, tt := range []struct {
		a, b net.Addr
		same bool
	}{
		{tcp("2001:db8:1:2:3:4:5:6", 1), tcp("2001:db8:1:2:ffff::1", 2), true},
		{tcp("2001:db8:1:2::1", 1), tcp("2001:db8:1:3::1", 1), false},
		{tcp("fe80::1%eth0", 1), tcp("fe80::1%eth1", 1), true},
		{tcp("192.0.2.1", 1), tcp("::ffff:192.0.2.1", 2), true},
		{tcp("192.0.2.1", 1), tcp("192.0.2.2", 1), false},
		{tcp("192.0.2.1", 1), &net.UnixAddr{Name: "x"}, false},
	} {
		if got := caller(tt.a) == caller(tt.b); got != tt.same {
			t.Errorf("%v and %v: got same caller %v, want %v", tt.a, tt.b, got, tt.same)
		}
	}
	if got := caller(tcp("2001:db8:1:2:3:4:5:6", 1)); got != netip.MustParseAddr("2001:db8:1:2::") {
		t.Errorf("got caller %v", got)
	}
	if got := transport.CallerAddr(t.Context()); got.IsValid() {
		t.Errorf("call without a peer: got caller %v", got)
	}
}
