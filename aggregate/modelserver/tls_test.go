package modelserver_test

import (
	"context"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
)

// TestReplicasByNameOverTLS holds that the certificate of an address found by a
// name has to be the name's, and that both ends present one.
func TestReplicasByNameOverTLS(t *testing.T) {
	config := transporttest.SelfSigned(t, "replicas.example")
	guard, err := transport.NewGuard(transport.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	options, err := guard.ServerOptions(config)
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
