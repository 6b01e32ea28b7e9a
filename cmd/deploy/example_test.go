package deploy_test

import (
	"errors"
	"fmt"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
)

// For nodes with cgroup v1, images come from one's own registry, and namespaces are first.
func ExampleConfig_Objects() {
	config := deploy.Config{Registry: "registry.example/spazio", Components: []string{"cgroup-v1"}}
	objects, err := config.Objects()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(objects[0].GetKind(), objects[0].GetName())
	for _, o := range objects {
		if o.GetKind() == "DaemonSet" {
			fmt.Println(o.GetKind(), o.GetNamespace(), o.GetName())
		}
	}
	_, err = deploy.Config{Components: []string{"cgroup-v3"}}.Objects()
	fmt.Println(errors.Is(err, deploy.ErrInvalid))
	// Output:
	// Namespace spazio-agent
	// DaemonSet spazio-agent spazio-agent
	// true
}
