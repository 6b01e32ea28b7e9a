// Package cluster holds what the end-to-end tests share: the control plane of a test process, nodes with a
// given number of places, batches of pods, schedulers in the process and programs beside it. The tests run
// the parts together, with a real API server, the real scheduler and real gRPC:
//
//	attacks     unauthenticated, false and overloading callers
//	autoscale   what autoscalers see, with permissions withheld, leaders killed, and Karpenter itself
//	comparison  spazio-demo compare, on this machine and on a cluster
//	deploy      the manifests: accepted, admitted, and with exactly the rights that the programs need
//	documents   what pages state about commands: flags, arguments and values exist
//	external    the interface /external/v1 keeps to its contract
//	failures    agents, schedulers, nodes and the API server that end or are slow
//	gangs       pods that start all together or not at all
//	install     spazio's commands on clusters of every kind
//	profiles    the profiler with its objects, and schedulers that decide by them
//	pronto      nodes that follow Pronto's rejection signal, from a sample to a bind
//	relief      what the descheduler evicts and what not, and its rights withheld
//	testbeds    test beds: definitions, jobs and schedulings on simulated nodes, and what remains when any
//	            part is killed
//	waking      pods that wait, and places that become free for them
//
// failures.TestManyPendingPods takes too long for a test with the number of pods that it is meant for:
//
//	go test -run ManyPending -v ./internal/e2e/failures -pending 10000
package cluster

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"

	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/cmd/internal/aggregatord"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/profilerd"
	"github.com/spazio-scheduler/spazio/cmd/internal/schedulerd"
	"github.com/spazio-scheduler/spazio/cmd/internal/testbedd"
	"github.com/spazio-scheduler/spazio/testcluster/embedded"
)

// roleVariable makes the test binary act as one of the commands.
const roleVariable = "SPAZIO_E2E_ROLE"

var roles = map[string]func(ctx context.Context, args []string, stdout, stderr io.Writer) int{
	"aggregator": aggregatord.Main,
	"profiler":   profilerd.Main,
	"scheduler":  schedulerd.Main,
	"testbed":    testbedd.Main,
}

// FlinkCRD is for e2e/testbeds; every package declares the flag, so that one go test runs them all with
// it.
var FlinkCRD = flag.String("flink-crd", "", "file of the Flink operator's own definition of FlinkDeployment")

// Main is the TestMain of every package with such tests. The configuration is the control plane's.
func Main(m *testing.M, c embedded.Config) {
	planeConfig = c
	if role := os.Getenv(roleVariable); role != "" {
		// Standard input ends with the test process, however that ends.
		go func() {
			_, _ = io.Copy(io.Discard, os.Stdin)
			os.Exit(command.ExitFailure)
		}()
		command.Main(roles[role])
	}
	code := m.Run()
	if plane != nil {
		if err := plane.Close(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// plane is the one control plane of the process, started when a test first asks.
var (
	planeConfig embedded.Config
	plane       *embedded.ControlPlane
	startPlane  = sync.OnceValue(func() (err error) {
		plane, err = embedded.Start(context.Background(), planeConfig)
		return err
	})
)

// Plane returns the process's control plane.
func Plane(t testing.TB) *embedded.ControlPlane {
	t.Helper()
	if err := startPlane(); err != nil {
		t.Fatal(err)
	}
	return plane
}

// Connect returns an admin's client and kubeconfig.
func Connect(t testing.TB) (kubernetes.Interface, string) {
	t.Helper()
	plane := Plane(t)
	client, err := kubernetes.NewForConfig(plane.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := t.TempDir() + "/kubeconfig"
	if err := embedded.WriteKubeconfig(kubeconfig, plane.RESTConfig()); err != nil {
		t.Fatal(err)
	}
	return client, kubeconfig
}
