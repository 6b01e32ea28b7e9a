package burn_test

import (
	"context"
	"fmt"

	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/testcluster/simnode"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/burn"
)

// This machine joins a cluster beside simulated nodes. The program's main function
// begins with burn.Init.
func ExampleNewMachine() {
	var cluster *rest.Config // of package embedded, or of envtest
	machine, err := burn.NewMachine(burn.Config{Name: "this-machine"})
	if err != nil {
		fmt.Println(err)
		return
	}
	nodes, err := simnode.Start(context.Background(), simnode.Config{
		Cluster:  cluster,
		Nodes:    19,
		Machines: []simnode.Machine{machine},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer nodes.Close()
	// Output:
	// simnode: Cluster = nil: invalid configuration or input: must be set, or Client
}
