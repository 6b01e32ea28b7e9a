package failures

import (
	"net"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// Every role is killed in the middle of a batch and restarted.
func TestKilledRolesComeBack(t *testing.T) {
	const (
		nodeCount = 10
		podCount  = 120
		timeScale = 4
	)
	client, kubeconfig := cluster.Connect(t)
	admin, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	signals, secure := transporttest.Address(t), transporttest.Address(t)
	models, metrics := transporttest.Address(t), transporttest.Address(t)
	_, securePort, err := net.SplitHostPort(secure)
	if err != nil {
		t.Fatal(err)
	}
	scheduler := &cluster.Command{Role: "scheduler", Program: *schedulerProgram, Args: []string{
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--authentication-skip-lookup", "--bind-address=127.0.0.1", "--secure-port=" + securePort,
		"--leader-elect=false", "--signal-listen=" + signals,
	}}
	aggregator := &cluster.Command{Role: "aggregator", Args: []string{"--listen=" + models, "--metrics-listen=" + metrics}}
	schedulerMetrics, aggregatorMetrics := cluster.NewScraper("https://"+secure, admin.BearerToken), cluster.NewScraper("http://"+metrics, "")

	aggregator.Start(t)
	scheduler.Start(t)
	runSimulatedNodes(t, client, simnode.NewClock(time.Now(), timeScale), nodeCount, signals, models)
	cluster.WaitMetric(t, aggregatorMetrics, "spazio_aggregator_nodes", nodeCount)

	log := cluster.Watch(t, client)
	pods := cluster.Batch{Prefix: "batch", Pods: podCount - podCount/6, Startup: time.Second, Work: 5 * time.Second}
	cluster.Submit(t, client, pods)
	log.WaitSucceeded(t, podCount/12)
	aggregator.Kill(t)
	aggregator.Start(t)
	log.WaitSucceeded(t, podCount/6)
	scheduler.Kill(t)
	pods.Prefix, pods.Pods = "orphans", podCount/6
	cluster.Submit(t, client, pods)
	scheduler.Start(t)
	begin := time.Now()
	log.WaitSucceeded(t, podCount)
	t.Logf("%v from the scheduler's second start to the end of the batch", time.Since(begin))

	cluster.WaitMetric(t, schedulerMetrics, `spazio_nodes{state="fresh"}`, nodeCount)
	cluster.WaitMetric(t, schedulerMetrics, "spazio_inflight_pods", 0)
	cluster.WaitMetric(t, aggregatorMetrics, "spazio_aggregator_nodes", nodeCount)
	scheduler.Interrupt(t)
	aggregator.Interrupt(t)
}
