package api_test

import (
	"errors"
	"fmt"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/api"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/reserve"
	"github.com/spazio-scheduler/spazio/svd"
)

func ExampleToReport() {
	sent := agent.Report{
		Node: "node-1", Incarnation: 1, Sequence: 42, Avail: 2.5,
		Pods:     []reserve.PodKey{reserve.KeyOf("6ba7b810-9dad-11d1-80b4-00c04fd430c8")},
		Channels: []agent.ChannelReport{{Name: "cpu", Usage: .4, Capacity: .9, Cost: .25}},
	}
	message := api.FromReport(sent)
	received, err := api.ToReport(message)
	fmt.Println(received.Node, received.Avail, len(received.Pods), err)

	message.Channels[0].Usage = 1.5
	_, err = api.ToReport(message)
	var bad *field.Error
	fmt.Println(errors.As(err, &bad), bad.Field)
	fmt.Println(err)
	// Output:
	// node-1 2.5 1 <nil>
	// true channels[0].usage
	// api: channels[0].usage = 1.5: out of range: -1e-09 to 1.000000001
}

func ExampleToLocal() {
	message := api.FromLocal(agent.Local{
		Node: "node-1", Schema: "cpu,memory",
		Model: svd.State{Dim: 2, Block: 10, Mass: 2, U: []float64{.6, .8}, Sigma: []float64{1}},
	})
	local, err := api.ToLocal(message)
	fmt.Println(local.Model.Sigma, err)

	message.Model.U[0] = .7 // no longer of length 1
	_, err = api.ToLocal(message)
	fmt.Println(errors.Is(err, svd.ErrOrthonormal))
	// Output:
	// [1] <nil>
	// true
}

func ExampleToFleet() {
	model, err := svd.FromState(svd.State{Dim: 1, Block: 10, Mass: 38, U: []float64{1}, Sigma: []float64{2}})
	if err != nil {
		fmt.Println(err)
		return
	}
	message := api.FromFleet(agent.Fleet{Schema: "cpu", Model: model, Nodes: 19}, 7)
	fleet, err := api.ToFleet(message)
	fmt.Println(message.GetVersion(), fleet.Nodes, fleet.Model.Mass(), err)
	// Output: 7 19 38 <nil>
}
