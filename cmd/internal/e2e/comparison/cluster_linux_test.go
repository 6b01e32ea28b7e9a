package comparison

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/cmd/compare"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

// onCluster is small on a cluster.
func onCluster(kubeconfig string, more ...string) []string {
	return append([]string{
		"compare", "--kubeconfig=" + kubeconfig, "--image=spazio-testapp", "--schedulers=default-scheduler,spazio", "--runs=1",
		"--duration=4s", "--warm-up=1s", "--kill=2", "--kill-every=1s", "--replicas=1", "--rate=20", "--most-late=1", "--output=json",
	}, more...)
}

// A comparison runs on a cluster with a user of its role only; missing permissions, obstacles, and
// leftovers of a killed one are reported.
func TestCluster(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	const user = "comparer"
	kubeconfig := r.kubeconfig(t, user)
	refused := func(t *testing.T, code int, want string, more ...string) {
		t.Helper()
		process := cluster.StartProgram(t, onCluster(kubeconfig, more...)...)
		if got := process.End(t); got != code || !strings.Contains(process.Said(), want) {
			t.Errorf("exit code %d, want %d and %q:\n%s", got, code, want, process.Said())
		}
	}
	refused(t, command.ExitFailure, "there is no right to list nodes")
	r.permit(t, user)
	r.isGone(t)

	t.Run("two schedulers", func(t *testing.T) { r.compare(t, kubeconfig) })
	t.Run("no such scheduler", func(t *testing.T) {
		refused(t, command.ExitFailure, "no such scheduler places pods: nobody", "--schedulers=nobody")
		r.isGone(t)
	})
	t.Run("a node of unknown power", func(t *testing.T) {
		if err := simnode.Register(t.Context(), r.client, simnode.NodeSpec{Name: "bare", Cores: 1, Memory: 1 << 30}); err != nil {
			t.Fatal(err)
		}
		refused(t, command.ExitFailure, "bare: no power is known")
		r.isGone(t)
		if err := r.client.CoreV1().Nodes().Delete(t.Context(), "bare", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	})
	t.Run("another's namespace", func(t *testing.T) {
		namespaces := r.client.CoreV1().Namespaces()
		others := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: compare.Namespace}}
		if _, err := namespaces.Create(t.Context(), others, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		refused(t, command.ExitFailure, "is not a comparison's", "--replace")
		if _, err := namespaces.Get(t.Context(), compare.Namespace, metav1.GetOptions{}); err != nil {
			t.Errorf("another's namespace: %v", err)
		}
		if err := namespaces.Delete(t.Context(), compare.Namespace, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		r.vanishes(t)
	})
	t.Run("interrupted", func(t *testing.T) {
		r.midst(t, kubeconfig, syscall.SIGINT)
		r.isGone(t)
	})
	t.Run("killed", func(t *testing.T) {
		r.midst(t, kubeconfig, syscall.SIGKILL)
		refused(t, command.ExitFailure, "which is under way or was killed")
		process := cluster.StartProgram(t, onCluster(kubeconfig, "--replace", "--schedulers=default-scheduler")...)
		if code := process.End(t); code != command.ExitOK {
			t.Errorf("exit code %d:\n%s", code, process.Said())
		}
		r.isGone(t)
	})
}

// compare checks the runs: 4 s with 20 requests a second, on nodes of 10 W to 40 W, and nine pods, two
// of which are killed three times.
func (r *rig) compare(t *testing.T, kubeconfig string) {
	process := cluster.StartProgram(t, onCluster(kubeconfig)...)
	if code := process.End(t); code != command.ExitOK {
		t.Fatalf("exit code %d:\n%s", code, process.Said())
	}
	r.isGone(t)
	var of compare.Outcome
	if err := json.Unmarshal(process.Stdout.Bytes(), &of); err != nil {
		t.Fatalf("%v in %s", err, process.Stdout.String())
	}
	if len(of.Runs) != 2 || of.Runs[0].Scheduler != "default-scheduler" || of.Runs[1].Scheduler != "spazio" {
		t.Fatalf("runs %+v", of.Runs)
	}
	if of.Quality != "power that the nodes' agents call measured" {
		t.Errorf("got quality of joules %q", of.Quality)
	}
	t.Logf("%s%+v", process.Said(), of.Runs)
	nodes := float64(len(r.nodes))
	for _, run := range of.Runs {
		if run.Void != "" { // on a loaded machine an agent may have had no time
			t.Logf("void: %s", run.Void)
			continue
		}
		if run.Requests+run.Errors != 80 || run.Requests == 0 || !(0 < run.P50 && run.P50 <= run.P99 && run.P99 <= run.P999) {
			t.Errorf("%+v", run)
		}
		if run.Joules < 10*nodes*run.Seconds*.9 || run.Joules > 40*nodes*run.Seconds*1.1 {
			t.Errorf("%s: %v J in %v s", run.Scheduler, run.Joules, run.Seconds)
		}
		pods := 0.
		for _, n := range run.Pods {
			pods += n
		}
		if pods < 9-6 || pods > 9+6 || run.Bound < 9 || run.Bound > 9+6 || run.Bind <= 0 || len(run.Pods) != len(r.nodes) {
			t.Errorf("%s: got pods %v, %d bound after %v s", run.Scheduler, run.Pods, run.Bound, run.Bind)
		}
	}
}

// midst ends a comparison midway.
func (r *rig) midst(t *testing.T, kubeconfig string, by syscall.Signal) {
	t.Helper()
	process := cluster.StartProgram(t, onCluster(kubeconfig, "--duration=10m")...)
	process.WaitFor(t, "run 1 of 2")
	cluster.Eventually(t, "pods of it run", func() (bool, any) {
		pods, err := r.client.CoreV1().Pods(compare.Namespace).List(t.Context(), metav1.ListOptions{FieldSelector: "status.phase=Running"})
		if err != nil {
			return false, err
		}
		return len(pods.Items) >= 5, len(pods.Items)
	})
	process.Signal(t, by)
	if code := process.End(t); by == syscall.SIGINT && (code != command.ExitFailure || !strings.Contains(process.Said(), "interrupted")) {
		t.Errorf("exit code %d:\n%s", code, process.Said())
	}
}

// isGone fails unless nothing is left: a namespace is gone after its contents.
func (r *rig) isGone(t *testing.T) {
	t.Helper()
	if _, err := r.client.CoreV1().Namespaces().Get(t.Context(), compare.Namespace, metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("the namespace still exists: %v", err)
	}
	pods, err := r.client.CoreV1().Pods(compare.Namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) > 0 {
		t.Errorf("got %d remaining pods, error %v", len(pods.Items), err)
	}
}

func (r *rig) vanishes(t *testing.T) {
	t.Helper()
	cluster.Eventually(t, "the namespace is gone", func() (bool, any) {
		_, err := r.client.CoreV1().Namespaces().Get(t.Context(), compare.Namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err), err
	})
}
