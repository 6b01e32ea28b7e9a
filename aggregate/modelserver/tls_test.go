package modelserver_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
)

// identity is the files of a certificate for a name, which is its own
// authority.
func identity(t *testing.T, name string) transport.Config {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{name}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(file, kind string, der []byte) string {
		path := filepath.Join(dir, file)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	cert := write("cert", "CERTIFICATE", certificate)
	return transport.Config{CertFile: cert, KeyFile: write("key", "PRIVATE KEY", private), CAFile: cert}
}

// TestReplicasByNameOverTLS holds that the certificate of an address found by a
// name has to be the name's, and that both ends present one.
func TestReplicasByNameOverTLS(t *testing.T) {
	config := identity(t, "replicas.example")
	options, err := transport.ServerOptions(config)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	wire := grpc.NewServer(options...)
	spaziov1.RegisterPeerServiceServer(wire, populated(t, 3))
	served := make(chan error, 1)
	go func() { served <- wire.Serve(listener) }()
	defer func() {
		wire.Stop()
		<-served
	}()
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	for name, trusted := range map[string]bool{"replicas.example": true, "elsewhere.example": false} {
		s := populated(t, 0)
		peers, err := modelserver.NewPeers(s, modelserver.PeersConfig{
			Targets: []string{"dns:///" + name + ":" + port}, Transport: config, Timeout: time.Minute,
			Resolve: func(context.Context, string) ([]string, error) { return []string{"127.0.0.1"}, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		err = peers.Round(t.Context())
		peers.Close()
		if n := len(s.Snapshot().Entries); trusted && (err != nil || n != 3) || !trusted && (err == nil || n != 0) {
			t.Errorf("%s: %v, %d nodes", name, err, n)
		}
	}
}
