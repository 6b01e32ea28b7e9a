package install

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/cmd/deploy/check"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/field"
)

// node creates a Linux node whose clock is off by skew.
func node(t *testing.T, client kubernetes.Interface, name string, skew time.Duration) {
	t.Helper()
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelOSStable: "linux"}}}
	if _, err := client.CoreV1().Nodes().Create(t.Context(), n, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	cluster.Eventually(t, "leases of nodes have a namespace", func() (bool, any) {
		_, err := client.CoreV1().Namespaces().Get(t.Context(), corev1.NamespaceNodeLease, metav1.GetOptions{})
		return err == nil, err
	})
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: coordinationv1.LeaseSpec{
		HolderIdentity: &name, RenewTime: &metav1.MicroTime{Time: time.Now().Add(skew)},
	}}
	if _, err := client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Create(t.Context(), lease, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.CoreV1().Nodes().Delete(context.Background(), name, metav1.DeleteOptions{})
		_ = client.CoordinationV1().Leases(corev1.NamespaceNodeLease).Delete(context.Background(), name, metav1.DeleteOptions{})
	})
}

func result(t *testing.T, r check.Report, name string) check.Result {
	t.Helper()
	for _, one := range r.Results {
		if one.Name == name {
			return one
		}
	}
	t.Fatalf("no check of the %s", name)
	return check.Result{}
}

// Each fault fails its own check, and no other.
func TestCheck(t *testing.T) {
	c, client := control(t)
	defer remove(t, c)
	if err := c.Install(withTimeout(t), objects(t, deploy.Config{}), deploy.Options{}); err != nil {
		t.Fatal(err)
	}
	node(t, client, "near", 0)
	node(t, client, "far", 0)
	now := time.Now()
	well := check.Config{
		Cluster: c,
		Signals: func(context.Context) ([]check.Signal, error) {
			return []check.Signal{{Node: "near", Fresh: true, State: "fresh"}, {Node: "far", Fresh: true, State: "fresh"}, {Node: "gone", State: "stale"}}, nil
		},
		Certificates: func(context.Context, bool) (map[string]time.Time, error) {
			return map[string]time.Time{"scheduler's own": now.Add(80 * 24 * time.Hour), "scheduler's clients": now.Add(400 * 24 * time.Hour)}, nil
		},
		Cgroup: func(context.Context, string) (string, error) { return "v2", nil },
		Now:    func() time.Time { return now },
	}
	report, err := check.Run(withTimeout(t), well)
	if err != nil || !report.OK || len(report.Results) != 7 {
		t.Fatalf("%+v, %v", report, err)
	}
	for name, want := range map[string]string{
		"rollouts": "4 workloads", "nodes": "2 nodes, control groups v2 on 2", "signals": "2 of 2", "certificates": "scheduler's own, in 80 days", "clocks": "2 of 2",
	} {
		if r := result(t, report, name); r.Status != check.OK || !strings.Contains(r.Text, want) {
			t.Errorf("%+v, want %q", r, want)
		}
	}
	boom := errors.New("boom")
	// If no node answers and the scheduler is not queried, the clocks are unknown; one answer is
	// enough.
	for answers, want := range map[string]check.Status{"": check.Unknown, "near": check.OK} {
		config := well
		config.Signals = nil
		config.Cgroup = func(_ context.Context, node string) (string, error) {
			if node == answers {
				return "v2", nil
			}
			return "", boom
		}
		report, err := check.Run(withTimeout(t), config)
		if r := result(t, report, "nodes"); err != nil || r.Status != want || !strings.Contains(strings.Join(r.Details, " "), "far: boom") {
			t.Errorf("answer %q: got %+v, %v; want %s", answers, r, err, want)
		}
	}
	for _, tt := range []struct {
		name, check, wantText string
		change                func(*check.Config)
	}{
		{"a silent node", "signals", "far: stale", func(c *check.Config) {
			c.Signals = func(context.Context) ([]check.Signal, error) {
				return []check.Signal{{Node: "near", Fresh: true}, {Node: "far", State: "stale"}}, nil
			}
		}},
		{"a node that the scheduler does not know", "signals", "far: the scheduler does not know it", func(c *check.Config) {
			c.Signals = func(context.Context) ([]check.Signal, error) { return []check.Signal{{Node: "near", Fresh: true}}, nil }
		}},
		{"no scheduler", "signals", "boom", func(c *check.Config) {
			c.Signals = func(context.Context) ([]check.Signal, error) { return nil, boom }
		}},
		{"a certificate that ends", "certificates", "scheduler's own ends on", func(c *check.Config) {
			c.Now = func() time.Time { return now.Add(59*24*time.Hour + time.Second) }
		}},
		{"no certificates to be had", "certificates", "boom", func(c *check.Config) {
			c.Certificates = func(context.Context, bool) (map[string]time.Time, error) { return nil, boom }
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			config := well
			tt.change(&config)
			report, err := check.Run(withTimeout(t), config)
			if err != nil || report.OK {
				t.Fatalf("%+v, %v", report, err)
			}
			for _, r := range report.Results {
				if failed := r.Status == check.Failed; failed != (r.Name == tt.check) {
					t.Errorf("%+v", r)
				}
			}
			if r := result(t, report, tt.check); !strings.Contains(r.Text+strings.Join(r.Details, " "), tt.wantText) {
				t.Errorf("got %+v, want %q in it", r, tt.wantText)
			}
		})
	}
	t.Run("nothing can be asked", func(t *testing.T) {
		report, err := check.Run(withTimeout(t), check.Config{Cluster: c})
		if err != nil || !report.OK || result(t, report, "signals").Status != check.Unknown || result(t, report, "certificates").Status != check.Unknown {
			t.Errorf("%+v, %v", report, err)
		}
	})
	t.Run("test beds", func(t *testing.T) { testbeds(t, c, well) })
	t.Run("a clock that is wrong", func(t *testing.T) {
		node(t, client, "tomorrow", 90*time.Second)
		config := well
		config.Signals = nil
		report, err := check.Run(withTimeout(t), config)
		if r := result(t, report, "clocks"); err != nil || report.OK || r.Status != check.Failed || len(r.Details) != 1 || !strings.HasPrefix(r.Details[0], "tomorrow: 1m") {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("a workload that does not run", func(t *testing.T) {
		d, err := client.AppsV1().Deployments(deploy.SystemNamespace).Get(t.Context(), "spazio-aggregator", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 1, AvailableReplicas: 1}
		if _, err := client.AppsV1().Deployments(deploy.SystemNamespace).UpdateStatus(t.Context(), d, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		report, err := check.Run(withTimeout(t), well)
		if r := result(t, report, "rollouts"); err != nil || report.OK || len(r.Details) != 1 || !strings.Contains(r.Details[0], "spazio-aggregator: 1 of 2 available") {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("no rights", func(t *testing.T) {
		config := well
		config.Cluster = grant(t, client, "onlooker", nil)
		report, err := check.Run(withTimeout(t), config)
		if r := result(t, report, "rights"); err != nil || report.OK || len(r.Details) != 6 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

// testbeds installs the test beds' operator and checks which of its faults fail the check; without the
// operator there is no such check.
func testbeds(t *testing.T, c *deploy.Cluster, config check.Config) {
	if err := c.Install(withTimeout(t), objects(t, deploy.Config{Components: []string{"testbed"}}), deploy.Options{}); err != nil {
		t.Fatal(err)
	}
	bed := func(age time.Duration) check.Testbed {
		return check.Testbed{Name: "lab/auto", Slots: map[string]int{"free": 2, "pending": 0}, SignalAge: age}
	}
	for _, tt := range []struct {
		name     string
		wantText []check.Testbed
		err      error
		status   check.Status
		want     string
	}{
		{"none", nil, nil, check.OK, "0 test beds, 0 slots"},
		{"two", []check.Testbed{bed(0), {Name: "lab/small", Slots: map[string]int{"free": 1, "occupied": 4}}}, nil, check.OK, "2 test beds, 7 slots, 3 free, 4 occupied"},
		{"a restart", []check.Testbed{bed(time.Minute)}, nil, check.OK, "1 test bed, 2 slots"},
		{"no room known", []check.Testbed{bed(time.Minute + time.Second)}, nil, check.Failed, "lab/auto: the room of one of its nodes has not been known for 1m1s"},
		{"nobody leads", nil, errors.New("boom"), check.Failed, "boom"},
	} {
		config.Testbeds = func(context.Context) ([]check.Testbed, error) { return tt.wantText, tt.err }
		report, err := check.Run(withTimeout(t), config)
		r := result(t, report, "testbeds")
		if err != nil || r.Status != tt.status || !strings.Contains(r.Text+strings.Join(r.Details, " "), tt.want) {
			t.Errorf("%s: %+v, %v; want %s, %q", tt.name, r, err, tt.status, tt.want)
		}
		if advised := strings.Contains(strings.Join(r.Advice, " "), "name=spazio-testbed"); advised != (tt.status == check.Failed) {
			t.Errorf("%s: advice %q", tt.name, r.Advice)
		}
	}
	config.Testbeds = nil
	if report, err := check.Run(withTimeout(t), config); err != nil || result(t, report, "testbeds").Status != check.Unknown {
		t.Errorf("without a query: got %+v, %v", report, err)
	}
}

func TestCheckRefuses(t *testing.T) {
	_, err := check.Run(t.Context(), check.Config{})
	var name *field.Error
	if !errors.As(err, &name) || !errors.Is(err, deploy.ErrInvalid) {
		t.Errorf("%v", err)
	}
}

// kubelet binds pods of our scheduler and writes their status, replacing scheduler and kubelet.
func kubelet(ctx context.Context, client kubernetes.Interface, node string, status corev1.PodStatus) {
	for ctx.Err() == nil {
		pods, err := client.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.schedulerName=" + deploy.SchedulerName})
		if err == nil {
			for _, p := range pods.Items {
				if p.Spec.NodeName == "" && node != "" {
					_ = client.CoreV1().Pods(p.Namespace).Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: p.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: node}}, metav1.CreateOptions{})
				}
				p.Status = status
				_, _ = client.CoreV1().Pods(p.Namespace).UpdateStatus(ctx, &p, metav1.UpdateOptions{})
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// The probe's outcome depends on what it waits for, and it leaves nothing behind.
func TestProbe(t *testing.T) {
	c, client := control(t)
	node(t, client, "near", 0)
	before := inventory(t)
	unplaced := corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "no room"}}}
	stuck := corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{{Name: "probe", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ErrImagePull"}}}}}
	for _, tt := range []struct {
		name, node string
		status     corev1.PodStatus
		listed     bool
		wantText   string
	}{
		{"it runs", "near", corev1.PodStatus{Phase: corev1.PodRunning}, true, "placed on near and runs, and its agent has listed it"},
		{"no scheduler places it", "", unplaced, true, "not placed: no room"},
		{"its image does not exist", "near", stuck, true, "does not run on near: ErrImagePull"},
		{"its agent does not list it", "near", corev1.PodStatus{Phase: corev1.PodRunning}, false, "its agent has not listed it"},
		{"it fails", "near", corev1.PodStatus{Phase: corev1.PodFailed, Message: "no such flag"}, true, "has ended"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go kubelet(ctx, client, tt.node, tt.status)
			well := tt.listed && tt.status.Phase == corev1.PodRunning
			probe := &check.Probe{
				Image: "i.example", Pause: 10 * time.Millisecond,
				Listed: func(context.Context, *corev1.Pod) (bool, error) { return tt.listed, nil },
			}
			// The test waits for what never happens until the caller gives up: after the pod's status
			// was visible.
			var r check.Result
			for enough := time.Second; enough < cluster.Patience; enough *= 2 {
				ctx, cancel := context.WithTimeout(t.Context(), enough)
				report, err := check.Run(ctx, check.Config{Cluster: c, Probe: probe})
				cancel()
				if err != nil {
					t.Fatal(err)
				}
				if r = result(t, report, "probe"); strings.Contains(r.Text, tt.wantText) {
					break
				}
			}
			if (r.Status == check.OK) != well || !strings.Contains(r.Text, tt.wantText) {
				t.Errorf("%+v, want %q", r, tt.wantText)
			}
			if more := difference(before, inventory(t)); len(more) > 0 {
				t.Errorf("got remaining %v", more)
			}
		})
	}
	pods, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	if err != nil && !apierrors.IsNotFound(err) || len(pods.Items) > 0 {
		t.Errorf("%d pods, %v", len(pods.Items), err)
	}
}
