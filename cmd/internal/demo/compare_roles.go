package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"

	"github.com/spazio-scheduler/spazio/cmd/compare"
	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/cmd/internal/agentd"
	"github.com/spazio-scheduler/spazio/cmd/internal/powerd"
	"github.com/spazio-scheduler/spazio/cmd/scheduler/service"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/testcluster/embedded"
	"github.com/spazio-scheduler/spazio/testcluster/simnode/children"
)

// initChildren does not return in a child of a comparison.
func initChildren() {
	children.Init(compare.Roles{ControlPlane: controlPlane, Scheduler: scheduler, Agent: main(agentd.Main), Power: main(powerd.Main)}.Table())
}

// controlPlane is compare.Roles.ControlPlane.
func controlPlane(ctx context.Context, args []string, _ io.Reader, out io.Writer) (err error) {
	plane, err := embedded.Start(ctx, embedded.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, plane.Close()) }()
	if err := embedded.WriteKubeconfig(args[0], plane.RESTConfig()); err != nil {
		return err
	}
	fmt.Fprintln(out, plane.RESTConfig().Host)
	select {
	case <-ctx.Done():
		return nil
	case <-plane.Failed():
		return plane.Err()
	}
}

// profiles are the schedulers there are.
var profiles = map[string]service.Profile{
	service.DefaultProfile:     {Name: service.DefaultProfile, Upstream: true},
	service.SpazioProfile:      {Name: service.SpazioProfile},
	deploy.EnergySchedulerName: {Name: deploy.EnergySchedulerName, EnergyWeight: .5},
}

// scheduler is compare.Roles.Scheduler.
func scheduler(ctx context.Context, args []string, _ io.Reader, out io.Writer) error {
	profile := profiles[args[1]]
	nodes, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	hub := plugin.NewHub(plugin.HubOptions{})
	s, err := service.New(ctx, service.Config{
		Kubeconfig: args[0], Args: plugin.SpazioArgs{Listen: "127.0.0.1:0"}, Hub: hub, Profiles: []service.Profile{profile},
	})
	if err != nil {
		return err
	}
	if profile.Upstream {
		fmt.Fprintln(out, "-\nready")
		return s.Run(ctx)
	}
	fmt.Fprintln(out, hub.Addr())
	ctx, cancel := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer cancel()
	waiting.Go(func() {
		if hub.AwaitFresh(ctx, nodes) == nil {
			fmt.Fprintln(out, "ready")
		}
	})
	return s.Run(ctx)
}

// main is a program as a role. Why it fails it says itself.
func main(program func(ctx context.Context, args []string, stdout, stderr io.Writer) int) children.Role {
	return func(ctx context.Context, args []string, _ io.Reader, out io.Writer) error {
		os.Exit(program(ctx, args, out, os.Stderr))
		return nil
	}
}
