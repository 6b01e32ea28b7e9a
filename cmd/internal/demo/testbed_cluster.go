package demo

import (
	"context"
	"fmt"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/component-base/metrics/legacyregistry"

	kubescheduler "github.com/spazio-scheduler/spazio/cmd/scheduler/service"
	"github.com/spazio-scheduler/spazio/cmd/testbed/service"
	"github.com/spazio-scheduler/spazio/node/build"
	"github.com/spazio-scheduler/spazio/node/endpoint"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/config"
	"github.com/spazio-scheduler/spazio/sim/report/text"
	"github.com/spazio-scheduler/spazio/testcluster/embedded"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

const (
	// account is the outside program's.
	account = "profiler"

	profiling, target = "profiling", "target"
	// label begins the labels of the Testbeds' nodes.
	label = "spazio-scheduler.github.io/demo-"
	// image is never run: simulated nodes follow the pods' annotations.
	image = "registry.invalid/none"
)

// params are a node's, of one core: two jobs that are bound by the CPU get half of it each.
func params(seed uint64) simnode.Params { return simnode.Params{Cores: 1, Seed: seed} }

// cluster is a control plane with two Testbeds, and all that carries out what an outside
// program decides.
type testbedCluster struct {
	screen   *text.Screen
	services *simnode.Group
	plane    *embedded.ControlPlane
	client   kubernetes.Interface
	objects  dynamic.Interface
	service  *service.Service
	plan     *span
	// token is the outside program's.
	token string
	// kubectl is how kubectl is called.
	kubectl string
}

// start brings up all parts; what has been started by then is stopped by c.services, also
// after an error.
func (c *testbedCluster) start(ctx context.Context, seed uint64, nodes int, jobs []testbedJob) error {
	return bring(ctx, c.screen.Printf,
		step{what: "control plane", run: c.startControlPlane},
		step{what: "roles and definitions", run: c.install},
		step{what: "program's account", run: c.invite},
		step{what: "nodes", run: func(ctx context.Context) error { return c.startNodes(ctx, seed, nodes) }},
		step{what: "scheduler", run: c.startScheduler},
		step{what: "test beds", run: c.startOperator},
		step{what: "jobs", run: func(ctx context.Context) error { return c.submit(ctx, jobs) }},
	)
}

func (c *testbedCluster) startControlPlane(ctx context.Context) (err error) {
	if c.plane, err = embedded.Start(ctx, embedded.Config{RBAC: true}); err != nil {
		return err
	}
	c.services.Adopt("control plane", c.plane)
	plain := c.plane.RESTConfig()
	plain.ContentType = "" // what is defined by resources is JSON
	if c.objects, err = dynamic.NewForConfig(plain); err != nil {
		return err
	}
	if c.client, err = kubernetes.NewForConfig(c.plane.RESTConfig()); err != nil {
		return err
	}
	kubeconfig := filepath.Join(c.plane.Dir(), "kubeconfig")
	if err := embedded.WriteKubeconfig(kubeconfig, c.plane.RESTConfig()); err != nil {
		return err
	}
	c.kubectl = "kubectl --kubeconfig " + kubeconfig
	c.screen.Printf("%s get testbeds,schedulings,batchjobs,pods,nodes", c.kubectl)
	return startControllers(ctx, c.plane, c.services)
}

func (c *testbedCluster) install(ctx context.Context) error { return install(ctx, c.plane, "testbed") }

// startNodes has one node join for profiling, and the others for plans.
func (c *testbedCluster) startNodes(ctx context.Context, seed uint64, nodes int) error {
	var machines []simnode.Machine
	add := func(bed string, i int) error {
		p := params(seed)
		p.Seed += uint64(len(machines))
		n, err := simnode.NewNode(simnode.NodeConfig{
			Name: fmt.Sprintf("%s-%d", bed, i), Labels: map[string]string{label + bed: fmt.Sprint(i)}, Params: p,
		})
		machines = append(machines, n)
		return err
	}
	if err := add(profiling, 1); err != nil {
		return err
	}
	for i := range nodes {
		if err := add(target, i+1); err != nil {
			return err
		}
	}
	fleet, err := simnode.Start(ctx, simnode.Config{
		Cluster: c.plane.RESTConfig(), Machines: machines, Observer: c.plan.observe,
		OnError: func(err error) { c.screen.Printf("%v", err) },
	})
	if err != nil {
		return err
	}
	c.services.Adopt("nodes", fleet)
	return nil
}

func (c *testbedCluster) startScheduler(ctx context.Context) error {
	kubeconfig, err := writeAccountKubeconfig(ctx, c.plane, "spazio-scheduler")
	if err != nil {
		return err
	}
	s, err := kubescheduler.New(ctx, kubescheduler.Config{
		Kubeconfig: kubeconfig, Args: plugin.SpazioArgs{Listen: loopback}, Slots: &config.SpazioSlotsArgs{},
	})
	if err != nil {
		return err
	}
	c.services.Start("scheduler", s.Run)
	return nil
}

// startOperator starts the controllers and the interface, and makes the Testbeds.
func (c *testbedCluster) startOperator(ctx context.Context) error {
	kubeconfig, err := writeAccountKubeconfig(ctx, c.plane, "spazio-testbed")
	if err != nil {
		return err
	}
	c.service, err = service.New(ctx, service.Config{Kubeconfig: kubeconfig, External: service.External{Listen: loopback, UI: true}})
	if err != nil {
		return err
	}
	c.services.Start("test beds", c.service.Run)
	if err := c.show(ctx); err != nil {
		return err
	}
	for _, name := range []string{profiling, target} {
		err := c.create(ctx, v1alpha1.Testbeds, &v1alpha1.Testbed{
			TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Testbed"},
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: v1alpha1.TestbedSpec{
				NodeLabel: label + name, SlotsPerNode: intstr.FromInt32(2), ResourcesPerSlot: corev1.ResourceList{
					corev1.ResourceCPU: resource.MustParse("450m"), corev1.ResourceMemory: resource.MustParse("256Mi"),
				},
			},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// show serves the metrics of all parts.
func (c *testbedCluster) show(ctx context.Context) error {
	var targets endpoint.Targets
	targets.Add("spazio-scheduler", "scheduler", build.Informed("spazio-scheduler", legacyregistry.DefaultGatherer))
	targets.Add("spazio-testbed", "testbed", c.service.Registry())
	server, err := endpoint.NewDebug(ctx, endpoint.Config{Addr: loopback, Gatherer: legacyregistry.DefaultGatherer, Handlers: targets.Handlers()})
	if err != nil {
		return err
	}
	c.services.Start("metrics", server.Run)
	c.screen.Printf("metrics of each part, as Prometheus' http_sd_configs reads them: http://%s%s", server.Addr(), endpoint.TargetsPath)
	return nil
}
