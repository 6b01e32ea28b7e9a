//go:build realnode && linux

package realnode

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/cmd/deploy"
)

var (
	record  = flag.String("record", "", "a directory for the recording of the node's agent")
	maxWait = flag.Duration("max-wait", 0, "how long a pod waits for room before one at a time goes without, on a machine that other load keeps saturated; 0 is the default's")
)

// The command installs Spazio on a real node and checks it, and a pod of its profile runs.
func TestInstall(t *testing.T) {
	install(t)
	quiet(t)
	command(t, "check", "--probe")
	create(t, worker("first", spazio, "-cpu=100ms"))
	succeeds(t, "first")
}

var (
	// installed is true once our programs are on the node.
	installed bool
	// beforeInstall are the objects from before the first installation.
	beforeInstall []string
)

// install installs our programs with spazio install, and returns when they are ready.
func install(t *testing.T) {
	t.Helper()
	installBy(t, func() {
		if *record != "" || *maxWait != 0 {
			objects := rendered(t)
			if *record != "" {
				recordOn(t, objects)
			}
			if *maxWait != 0 {
				waitAtMost(t, objects, *maxWait)
			}
			apply(t, objects)
			return
		}
		command(t, append([]string{"install", "--registry", deploy.NoRegistry}, components()...)...)
	})
}

// installBy installs in a given way, unless that has been done.
func installBy(t *testing.T, way func()) {
	t.Helper()
	if !installed {
		if beforeInstall == nil {
			beforeInstall = inventory(t)
		}
		installed = true
		way()
	}
	eventually(t, "our programs are ready", node.ready)
}

// command returns the output of spazio run as the cluster's administrator.
func command(t *testing.T, arguments ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), program(node.work, "spazio"), arguments...)
	c.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig(node.work, "admin"))
	out, err := c.CombinedOutput()
	t.Logf("spazio %s:\n%.4000s", strings.Join(arguments, " "), out)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// rendered returns the manifests for this machine.
func rendered(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	config := deploy.Config{}
	if !unified() {
		config.Components = []string{"cgroup-v1"}
	}
	objects, err := config.Objects()
	if err != nil {
		t.Fatal(err)
	}
	return objects
}

// apply does what `kubectl apply --server-side` does.
func apply(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	applyAs(t, "kubectl", objects)
}

// applyAs does the same under another field manager's name.
func applyAs(t *testing.T, manager string, objects []*unstructured.Unstructured) {
	t.Helper()
	client := dynamicClient(t)
	for _, o := range objects {
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		options := metav1.PatchOptions{FieldManager: manager, Force: new(true), FieldValidation: metav1.FieldValidationStrict}
		resource, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
		if _, err := client.Resource(resource).Namespace(o.GetNamespace()).Patch(t.Context(), o.GetName(),
			"application/apply-patch+yaml", text, options); err != nil {
			t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
		}
	}
}

// dynamicClient returns a client with all permissions.
func dynamicClient(t *testing.T) *dynamic.DynamicClient {
	t.Helper()
	config := administrator(t)
	config.WarningHandler = rest.NoWarnings{} // all resources are listed, deprecated ones included
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// ready returns which of our programs is not ready.
func (n *realNode) ready(ctx context.Context) error {
	all := metav1.ListOptions{LabelSelector: "app.kubernetes.io/part-of=spazio"}
	deployments, err := n.client.AppsV1().Deployments("").List(ctx, all)
	if err != nil {
		return err
	}
	for _, d := range deployments.Items {
		if d.Status.ObservedGeneration < d.Generation || d.Status.ReadyReplicas < *d.Spec.Replicas || d.Status.UpdatedReplicas < *d.Spec.Replicas {
			return fmt.Errorf("deployment %s: %+v", d.Name, d.Status)
		}
	}
	sets, err := n.client.AppsV1().DaemonSets("").List(ctx, all)
	if err != nil {
		return err
	}
	for _, s := range sets.Items {
		if s.Status.ObservedGeneration < s.Generation || s.Status.NumberReady < 1 || s.Status.NumberReady < s.Status.DesiredNumberScheduled || s.Status.UpdatedNumberScheduled < s.Status.DesiredNumberScheduled {
			return fmt.Errorf("daemon set %s: %+v", s.Name, s.Status)
		}
	}
	replicas, err := n.client.AppsV1().StatefulSets("").List(ctx, all)
	if err != nil {
		return err
	}
	for _, s := range replicas.Items {
		if s.Status.ObservedGeneration < s.Generation || s.Status.ReadyReplicas < *s.Spec.Replicas || s.Status.UpdatedReplicas < *s.Spec.Replicas {
			return fmt.Errorf("stateful set %s: %+v", s.Name, s.Status)
		}
	}
	jobs, err := n.client.BatchV1().Jobs("").List(ctx, all)
	if err != nil {
		return err
	}
	for _, j := range jobs.Items {
		if !complete(&j) {
			return fmt.Errorf("job %s: %+v", j.Name, j.Status)
		}
	}
	if len(deployments.Items) == 0 || len(sets.Items) == 0 {
		return fmt.Errorf("%d deployments and %d daemon sets of ours", len(deployments.Items), len(sets.Items))
	}
	return nil
}

func complete(j *batchv1.Job) bool { return j.Status.Succeeded > 0 }

// recordOn makes the agent write a recording to a directory of the machine.
func recordOn(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	dir, err := filepath.Abs(*record)
	if err == nil {
		err = os.MkdirAll(dir, 0o777)
	}
	if err == nil {
		err = os.Chmod(dir, 0o777) // the agent runs as user 65532
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if o.GetKind() != "DaemonSet" || o.GetName() != "spazio-agent" {
			continue
		}
		add := func(value any, of map[string]any, fields ...string) {
			list, _, err := unstructured.NestedSlice(of, fields...)
			if err == nil {
				err = unstructured.SetNestedSlice(of, append(list, value), fields...)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		template := []string{"spec", "template", "spec"}
		containers, _, _ := unstructured.NestedSlice(o.Object, append(template, "containers")...)
		agent := containers[0].(map[string]any)
		add("--record=/record", agent, "args")
		add(map[string]any{"name": "record", "mountPath": "/record"}, agent, "volumeMounts")
		if err := unstructured.SetNestedSlice(o.Object, containers, append(template, "containers")...); err != nil {
			t.Fatal(err)
		}
		add(map[string]any{"name": "record", "hostPath": map[string]any{"path": dir}}, o.Object, append(template, "volumes")...)
	}
}

// waitAtMost sets the profile's maxWait.
func waitAtMost(t *testing.T, objects []*unstructured.Unstructured, d time.Duration) {
	t.Helper()
	const file, before = "config.yaml", "listen: :9690\n"
	for _, o := range objects {
		if o.GetKind() != "ConfigMap" || o.GetName() != "spazio-scheduler" {
			continue
		}
		text, _, err := unstructured.NestedString(o.Object, "data", file)
		ahead, _, found := strings.Cut(text, before)
		if err != nil || !found {
			t.Fatalf("%v: %s", err, text)
		}
		indent := ahead[strings.LastIndexByte(ahead, '\n')+1:]
		text = strings.Replace(text, before, before+indent+"maxWait: "+d.String()+"\n", 1)
		if err := unstructured.SetNestedField(o.Object, text, "data", file); err != nil {
			t.Fatal(err)
		}
	}
}
