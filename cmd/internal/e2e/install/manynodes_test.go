package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/cmd/deploy"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/cmd/internal/requestreport"
)

var reportNodes = flag.Int("report-nodes", 40, "how many nodes TestReportOfManyNodes has; 5000 takes minutes to make")

const (
	podsOfNode   = 2   // beside its agent
	nodesOfGroup = 10  // whose pods are of one workload
	mostMemory   = 200 // MiB, of the process
)

// The built program reports on many nodes, whose agents all answer, within its memory.
func TestReportOfManyNodes(t *testing.T) {
	c, client := control(t)
	defer remove(t, c)
	if err := c.Install(withTimeout(t), objects(t, deploy.Config{}), deploy.Options{NoWait: true}); err != nil {
		t.Fatal(err)
	}
	defer removeManyNodes(t, client)
	manyNodes(t, *reportNodes)
	config := cluster.Plane(t).RESTConfig()
	f := newFront(t, config, &programs{why: agent.Why{Avail: 7, Channels: []agent.WhyChannel{
		{Name: agent.CPU, Filtered: .125, Room: .875}, {Name: agent.Memory, Filtered: .25, Room: .75},
	}}}, "{agent}")
	program := filepath.Join(t.TempDir(), "spazio")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./spazio")
	build.Dir = "../../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, form := range []string{"json", "html"} {
		out, mebibytes := run(t, program, "report", "-o", form, "--kubeconfig="+f.kubeconfig)
		t.Logf("%s of %d nodes: %d KiB", form, *reportNodes, len(out)>>10)
		if mebibytes > mostMemory {
			t.Errorf("%s: %d MiB, want at most %d", form, mebibytes, mostMemory)
		}
		if form != "json" {
			continue
		}
		var r requestreport.Report
		if err := json.Unmarshal(out, &r); err != nil {
			t.Fatal(err)
		}
		if want := *reportNodes; r.Total.MeasuredNodes != want || r.Total.Pods < want*(podsOfNode+1) || r.Total.Profiled != want/nodesOfGroup {
			t.Errorf("%d nodes measured, %d pods, %d profiles", r.Total.MeasuredNodes, r.Total.Pods, r.Total.Profiled)
		}
	}
}

// run returns what a program prints and the most memory that it had resident, in MiB. The kernel's
// account of a child that has ended has that of the test before it became the program.
func run(t *testing.T, program string, arguments ...string) (printed []byte, mebibytes int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, arguments...)
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	begun := time.Now()
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	for {
		select {
		case err := <-ended:
			if err != nil {
				t.Fatalf("%v: %s", err, errs.String())
			}
			t.Logf("%.1f s, %.1f s of the CPU, %d MiB", time.Since(begun).Seconds(),
				(command.ProcessState.UserTime() + command.ProcessState.SystemTime()).Seconds(), mebibytes)
			return out.Bytes(), mebibytes
		case <-time.After(10 * time.Millisecond):
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", command.Process.Pid))
		if _, after, found := strings.Cut(string(status), "VmHWM:"); err == nil && found {
			kibibytes := 0
			if _, err := fmt.Sscan(after, &kibibytes); err == nil {
				mebibytes = max(mebibytes, kibibytes>>10)
			}
		}
	}
}

// manyNodes makes nodes with agents and pods, of a profiled workload every few nodes.
func manyNodes(t *testing.T, count int) {
	t.Helper()
	config := cluster.Plane(t).RESTConfig()
	config.QPS = -1
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	var group errgroup.Group
	group.SetLimit(32)
	for i := range count {
		name, workload := fmt.Sprintf("many-%d", i), fmt.Sprintf("app-%d", i/nodesOfGroup)
		if i%nodesOfGroup == 0 {
			profiled(t, workload)
		}
		group.Go(func() error {
			size := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("16"), corev1.ResourceMemory: resource.MustParse("64Gi"), corev1.ResourcePods: resource.MustParse("110")}
			if _, err := client.CoreV1().Nodes().Create(t.Context(), &corev1.Node{
				ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"many": "yes"}},
				Status:     corev1.NodeStatus{Capacity: size, Allocatable: size},
			}, metav1.CreateOptions{}); err != nil {
				return err
			}
			for j := range podsOfNode + 1 {
				pod := foreignPod()
				pod.Spec.NodeName, pod.Spec.AutomountServiceAccountToken = name, new(false)
				if pod.Name, pod.Namespace, pod.Labels = "agent-"+name, deploy.AgentNamespace, map[string]string{"many": "yes", "app.kubernetes.io/name": "spazio-agent"}; j > 0 {
					pod.Name, pod.Namespace, pod.Labels = fmt.Sprintf("%s-5d4f8c7b9-%d-%d", workload, i, j), metav1.NamespaceDefault, map[string]string{"many": "yes", "pod-template-hash": "5d4f8c7b9"}
					pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: workload + "-5d4f8c7b9", UID: "1", Controller: &yes}}
					pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("500m"), corev1.ResourceMemory: resource.MustParse("2Gi")}
				}
				if _, err := client.CoreV1().Pods(pod.Namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
}

// removeManyNodes removes them again. The API server ends a request after a minute.
func removeManyNodes(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	all, now := metav1.ListOptions{LabelSelector: "many"}, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	cluster.Eventually(t, "the nodes and their pods are gone", func() (bool, any) {
		err := client.CoreV1().Nodes().DeleteCollection(t.Context(), now, all)
		for _, namespace := range []string{deploy.AgentNamespace, metav1.NamespaceDefault} {
			err = errors.Join(err, client.CoreV1().Pods(namespace).DeleteCollection(t.Context(), now, all))
		}
		return err == nil, err
	})
}
