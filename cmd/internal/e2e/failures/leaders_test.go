package failures

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/cmd/scheduler/service"
	"github.com/spazio-scheduler/spazio/plugin"
)

// replica is one of several schedulers of which the leader schedules.
type replica struct {
	cluster.Command
	signals string // the address that agents publish to
	metrics cluster.Scraper
}

// newReplica is not yet started. Its lease is short, but much longer than what
// a busy machine takes to renew it: a leader that loses it ends by itself. For the
// same reason a report counts for long.
func newReplica(t *testing.T, kubeconfig, token string) *replica {
	t.Helper()
	signals, secure := transporttest.Address(t), transporttest.Address(t)
	_, port, err := net.SplitHostPort(secure)
	if err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "config.yaml")
	text := fmt.Sprintf(`
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
clientConnection:
  kubeconfig: %s
leaderElection:
  leaderElect: true
  resourceName: spazio-scheduler
  leaseDuration: 6s
  renewDeadline: 5s
  retryPeriod: 500ms
profiles:
- schedulerName: %s
  percentageOfNodesToScore: 100
  plugins:
    multiPoint:
      enabled:
      - name: %s
        weight: 5
  pluginConfig:
  - name: %[3]s
    args:
      listen: %s
      maxAge: %v
`, kubeconfig, service.SpazioProfile, plugin.Name, signals, cluster.Patience)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return &replica{signals: signals, metrics: cluster.NewScraper("https://"+secure, token), Command: cluster.Command{Role: "scheduler", Args: []string{
		"--config=" + config, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--authentication-skip-lookup", "--bind-address=127.0.0.1", "--secure-port=" + port,
	}}}
}

// leader waits until a replica leads. One that was killed answers no more, and
// started again it may well be the next.
func leader(t *testing.T, replicas []*replica) (found *replica) {
	t.Helper()
	cluster.Eventually(t, "a leader", func() (bool, any) {
		for _, r := range replicas {
			led, err := r.metrics.Value(`leader_election_master_status{name="kube-scheduler"}`)
			if err == nil && led == 1 {
				found = r
			}
		}
		return found != nil, nil
	})
	return found
}

// Two leaders one after the other are killed in the middle of a batch. Agents
// publish to every replica, so that the next leader knows what is in flight.
func TestKilledLeadersHandOver(t *testing.T) {
	const (
		nodeCount = 20
		podCount  = 200
	)
	client, kubeconfig := cluster.Connect(t)
	admin, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	var replicas []*replica
	var targets []string
	for range 3 {
		r := newReplica(t, kubeconfig, admin.BearerToken)
		r.Start(t)
		replicas, targets = append(replicas, r), append(targets, r.signals)
	}
	nodes := cluster.NewPlaceNodes(t, client, nodeCount, cluster.Places, targets...)
	for _, r := range replicas {
		cluster.WaitMetric(t, r.metrics, `spazio_nodes{state="fresh"}`, nodeCount)
	}

	log := cluster.Watch(t, client)
	// A start-up of a second keeps dozens of bound pods out of the reports while
	// the leaders change.
	more := cluster.Batch{Prefix: "batch", Pods: podCount / 2, Startup: time.Second, Work: 500 * time.Millisecond}
	cluster.Submit(t, client, more)
	var killed []time.Time
	for i := range 2 {
		log.WaitBound(t, (i+1)*podCount/4)
		leading := leader(t, replicas)
		killed = append(killed, time.Now())
		leading.Kill(t)
		// Pods that come while nobody leads, too.
		more.Prefix, more.Pods = fmt.Sprintf("orphans-%d", i), podCount/4
		cluster.Submit(t, client, more)
		leading.Start(t)
	}
	log.WaitSucceeded(t, podCount)
	killed = append(killed, time.Now())
	for i := range 2 {
		t.Logf("after the death of leader %d nothing was bound for %v", i+1, log.Bindings().LongestPause(killed[i], killed[i+1]))
	}

	cluster.CheckHeld(t, nodes)
	for i, r := range replicas {
		t.Run(fmt.Sprintf("replica %d forgets the batch", i), func(t *testing.T) {
			cluster.WaitMetric(t, r.metrics, `spazio_nodes{state="fresh"}`, nodeCount)
			cluster.WaitMetric(t, r.metrics, "spazio_inflight_pods", 0)
		})
	}
}
