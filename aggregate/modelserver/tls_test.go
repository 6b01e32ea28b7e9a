package modelserver_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
)

// TestReplicasByNameOverTLS: the certificate of an address must be valid for the name that it was found
// by, and both ends present one.
func TestReplicasByNameOverTLS(t *testing.T) {
	config := transporttest.SelfSigned(t, "replicas.example")
	config.ClientCAFile = config.CAFile
	guard, err := transport.NewConnLimiter(transport.Limits{})
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
		}.WithResolve(func(context.Context, string) ([]string, error) { return []string{"127.0.0.1"}, nil }))
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

// TestNameThatCannotBeResolved: the last addresses stay in use, and the failure is reported; a name
// without addresses drops them.
func TestNameThatCannotBeResolved(t *testing.T) {
	config := transporttest.SelfSigned(t, "replicas.example")
	guard, err := transport.NewConnLimiter(transport.Limits{})
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
	wire, source := grpc.NewServer(options...), populated(t, 3)
	spaziov1.RegisterPeerServiceServer(wire, source)
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
	addresses, failure := []string{"127.0.0.1"}, error(nil)
	var failures []string
	target := "dns:///replicas.example:" + port
	s := populated(t, 0)
	peers, err := modelserver.NewPeers(s, modelserver.PeersConfig{
		Targets: []string{target}, Transport: config, Timeout: time.Minute,
		OnError: func(target string, err error) { failures = append(failures, target+": "+err.Error()) },
	}.WithResolve(func(context.Context, string) ([]string, error) { return addresses, failure }))
	if err != nil {
		t.Fatal(err)
	}
	defer peers.Close()
	for i, round := range []struct {
		addresses []string
		failure   error
		nodes     int // known after the round
		peers     int
		failures  int
	}{
		{[]string{"127.0.0.1"}, nil, 4, 1, 0},
		{nil, errors.New("no answer"), 5, 1, 1},
		{nil, nil, 5, 0, 1},
	} {
		push(t, source, local(fmt.Sprint("new-", i), 0, 1))
		addresses, failure = round.addresses, round.failure
		if err := peers.Round(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n := len(s.Snapshot().Entries); n != round.nodes || peers.Others() != round.peers || len(failures) != round.failures {
			t.Errorf("round %d: %d nodes, %d peers, failures %q; want %+v", i, n, peers.Others(), failures, round)
		}
	}
	if len(failures) != 1 || failures[0] != target+": no answer" {
		t.Errorf("got failures %q", failures)
	}
}
