package service_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"github.com/spazio-scheduler/spazio/cmd/scheduler/service"
	"github.com/spazio-scheduler/spazio/plugin"
)

// The scheduler has two profiles, one of which takes the power of nodes into account; agents report
// to the address of its Hub.
func Example() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s, err := service.New(ctx, service.Config{
		Kubeconfig: os.Getenv("KUBECONFIG"),
		Args:       plugin.SpazioArgs{Listen: "127.0.0.1:0"},
		Profiles:   []service.Profile{{Name: service.SpazioProfile}, {Name: "frugal", EnergyWeight: .5}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("agents report to", s.Hub().Addr())
	if err := s.Run(ctx); err != nil {
		fmt.Println(err)
	}
}
