package plugin_test

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/spazio-scheduler/spazio/plugin"
)

// A scheduler binary registers hub.New as the factory of plugin.Name; this example uses a fake
// scheduler.
func ExampleHub() {
	ctx, cancel := context.WithCancel(context.Background())
	hub := plugin.NewHub(plugin.HubOptions{})
	made, err := hub.New(ctx, &plugin.SpazioArgs{Listen: "127.0.0.1:0"}, &handle{
		factory: informers.NewSharedInformerFactory(fake.NewClientset(), 0),
	})
	if err != nil {
		fmt.Println(err)
	} else {
		fmt.Println(made.Name(), "listens:", hub.Addr() != nil)
	}
	cancel()
	hub.Wait()
	// Output: Spazio listens: true
}

func ExampleSpazioArgs_Validate() {
	err := plugin.SpazioArgs{CapacityWeight: 2}.Validate()
	fmt.Println(err)
	fmt.Println(errors.Is(err, plugin.ErrInvalid))
	// Output:
	// plugin: capacityWeight = 2: invalid configuration or input: must be a number between 0 and 1
	// true
}
