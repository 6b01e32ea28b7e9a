// Package gangs schedules pods that start all together or not at all, with kube-scheduler's own
// plugin GangScheduling. It has a process of its own, whose feature gates differ.
package gangs

import (
	"fmt"
	"os"
	"testing"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/kubernetes/pkg/features"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/testcluster/embedded"
)

func TestMain(m *testing.M) {
	if err := utilfeature.DefaultMutableFeatureGate.Set(string(features.GenericWorkload) + "=true"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	cluster.Main(m, embedded.Config{RuntimeConfig: map[string]string{"scheduling.k8s.io/v1beta1": "true"}})
}
