package cluster

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/scheduler/service"
	"github.com/spazio-scheduler/spazio/node/endpoint"
	"github.com/spazio-scheduler/spazio/plugin"
)

// Replica is one of several schedulers, each a process, of which the leader schedules.
type Replica struct {
	Command
	Signals string // the address that agents publish to
	Metrics endpoint.Scraper
}

// NewReplica returns a replica that is not yet started, with further flags. Its lease is short, but
// much longer than a loaded machine takes to renew it: a leader that loses its lease exits. For the
// same reason a report counts for long.
func NewReplica(t *testing.T, kubeconfig, token string, flags ...string) *Replica {
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
`, kubeconfig, service.SpazioProfile, plugin.Name, signals, Patience)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return &Replica{Signals: signals, Metrics: NewScraper("https://"+secure, token), Command: Command{Role: "scheduler", Args: append([]string{
		"--config=" + config, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--authentication-skip-lookup", "--bind-address=127.0.0.1", "--secure-port=" + port,
	}, flags...)}}
}

// Leader waits until a replica leads. A killed replica answers no more, and may lead again after a
// restart.
func Leader(t *testing.T, replicas []*Replica) (found *Replica) {
	t.Helper()
	Eventually(t, "a leader", func() (bool, any) {
		for _, r := range replicas {
			led, err := r.Metrics.Value(t.Context(), `leader_election_master_status{name="kube-scheduler"}`)
			if err == nil && led == 1 {
				found = r
			}
		}
		return found != nil, nil
	})
	return found
}
