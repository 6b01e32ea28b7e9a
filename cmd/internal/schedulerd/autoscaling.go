package schedulerd

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	fwk "k8s.io/kube-scheduler/framework"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/scheduler/service/autoscale"
	"github.com/spazio-scheduler/spazio/plugin"
)

// autoscaling is the controller that shows the cluster's autoscaler what is measured, if a flag
// asks for it.
type autoscaling struct {
	settings map[string]string
	// controller is nil for none. It is set before the scheduler starts.
	controller *autoscale.Controller
	// factory makes the plugins; kube-scheduler calls it for one profile after the other.
	factory func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error)
}

func (a *autoscaling) addFlags(flags *pflag.FlagSet) {
	flags.StringToStringVar(&a.settings, "autoscale", nil, "show the cluster's autoscaler what is measured, by CapacityBuffers for pods that wait for room, and labels and annotations of nodes: "+
		"namespace=NAME for the buffers, and if they are to differ from the defaults owner=DEPLOYMENT, scaleUpDelay=30s, scaleDownDelay=2m, maxReplicas=100, protectAbove=0.5; empty for not")
}

// apply makes the controller.
func (a *autoscaling) apply() error {
	if len(a.settings) == 0 {
		return nil
	}
	config, err := autoscale.Parse(a.settings)
	if err == nil {
		a.controller, err = autoscale.New(config)
	}
	if err != nil {
		return command.Usage(fmt.Errorf("--autoscale: %w", err))
	}
	return nil
}

// attach returns the factory of plugins of a hub, the same at each call.
func (a *autoscaling) attach(hub *plugin.Hub) func(context.Context, runtime.Object, fwk.Handle) (fwk.Plugin, error) {
	if a.factory == nil {
		a.factory = a.controller.Attach(hub)
	}
	return a.factory
}

func (a *autoscaling) bufferOf(pod *v1.Pod) string {
	if a.controller == nil {
		return ""
	}
	return a.controller.BufferOf(pod)
}
