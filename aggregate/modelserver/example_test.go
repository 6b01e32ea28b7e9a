package modelserver_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"google.golang.org/grpc"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/svd"
)

// A push is answered at once; later answers contain its model after the next tick. A real server is
// registered with grpc.NewServer instead.
func Example() {
	server, err := modelserver.New(modelserver.Config{Tick: time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error)
	go func() { ended <- server.Run(ctx) }()

	local := api.FromLocal(agent.Local{
		Node: "node-1", Schema: "cpu",
		Model: svd.State{Dim: 1, Block: 10, Mass: 2, U: []float64{1}, Sigma: []float64{1.5}},
	})
	var global *spaziov1.GlobalModel
	for ; global == nil; time.Sleep(time.Millisecond) {
		response, err := server.Push(ctx, &spaziov1.PushRequest{Local: local})
		if err != nil {
			fmt.Println(err)
			return
		}
		global = response.GetGlobal()
		local.Sequence++
	}
	// The age weighs the sums, so their last digit depends on it.
	fmt.Printf("%d %.6f\n", global.GetNodes(), global.GetModel().GetSigma())
	cancel()
	fmt.Println(<-ended)
	// Output:
	// 1 [1.500000]
	// <nil>
}

// A replica gets another's nodes when it queries it; a snapshot keeps them across a restart.
func ExamplePeers() {
	clock := func() time.Time { return time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC) }
	var servers [3]*modelserver.Server
	for i := range servers {
		var err error
		if servers[i], err = modelserver.New(modelserver.Config{Now: clock, Tick: time.Millisecond}); err != nil {
			fmt.Println(err)
			return
		}
	}
	one, other, restarted := servers[0], servers[1], servers[2]
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	wire := grpc.NewServer() // in production a transport.ConnLimiter has the listener and the options
	spaziov1.RegisterPeerServiceServer(wire, one)
	served := make(chan error)
	go func() { served <- wire.Serve(listener) }()

	ctx := context.Background()
	local := agent.Local{Node: "node-1", Schema: "cpu", Model: svd.State{Dim: 1, Block: 10, Mass: 2, U: []float64{1}, Sigma: []float64{1.5}}}
	if _, err := one.Push(ctx, &spaziov1.PushRequest{Local: api.FromLocal(local)}); err != nil {
		fmt.Println(err)
		return
	}
	peers, err := modelserver.NewPeers(other, modelserver.PeersConfig{Targets: []string{listener.Addr().String()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(peers.Round(ctx)) // Run makes a round every second
	peers.Close()

	dir, err := os.MkdirTemp("", "modelserver-example-")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	config := modelserver.KeeperConfig{Path: filepath.Join(dir, "snapshot")}
	before, err := modelserver.NewKeeper(other, config)
	if err != nil {
		fmt.Println(err)
		return
	}
	after, err := modelserver.NewKeeper(restarted, config)
	if err != nil {
		fmt.Println(err)
		return
	}
	before.Save() // Run saves every ten seconds
	after.Restore()
	ctx, cancel := context.WithCancel(ctx)
	go func() { served <- restarted.Run(ctx) }()
	fmt.Println(restarted.AwaitReady(ctx), restarted.Nodes())
	cancel()
	fmt.Println(<-served)
	wire.Stop()
	fmt.Println(<-served)
	// Output:
	// <nil>
	// <nil> 1
	// <nil>
	// <nil>
}
