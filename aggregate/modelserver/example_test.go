package modelserver_test

import (
	"context"
	"fmt"
	"time"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/aggregate/modelserver"
	"github.com/spazio-scheduler/spazio/api"
	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/svd"
)

// A push is answered at once; the pushed model is in the answers after the
// next tick. A real server is registered with grpc.NewServer instead.
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
	// The age weights the sums: their last digit depends on it.
	fmt.Printf("%d %.6f\n", global.GetNodes(), global.GetModel().GetSigma())
	cancel()
	fmt.Println(<-ended)
	// Output:
	// 1 [1.500000]
	// <nil>
}
