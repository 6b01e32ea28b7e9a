package deploy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// children are the objects that run jobs of the three kinds, by the job's field.
var children = map[string]schema.GroupVersionResource{
	"jobSpec":   {Group: "batch", Version: "v1", Resource: "jobs"},
	"sparkSpec": {Group: "sparkoperator.k8s.io", Version: "v1beta2", Resource: "sparkapplications"},
	"flinkSpec": {Group: "flink.apache.org", Version: "v1beta1", Resource: "flinkdeployments"},
}

// operators defines the kinds of Spark's and Flink's operators, as far as they matter here.
func (s server) operators(t *testing.T) {
	t.Helper()
	for _, of := range []struct{ kind, field string }{{"SparkApplication", "sparkSpec"}, {"FlinkDeployment", "flinkSpec"}} {
		child := children[of.field]
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(fmt.Appendf(nil, `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: %[1]s.%[2]s, annotations: {api-approved.kubernetes.io: 'unapproved, a double of a test'}},
spec: {group: %[2]s, scope: Namespaced, names: {kind: %[3]s, plural: %[1]s}, versions: [{name: %[4]s, served: true, storage: true, subresources: {status: {}},
schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}}`, child.Resource, child.Group, of.kind, child.Version), &o.Object); err != nil {
			t.Fatal(err)
		}
		s.install(t, []*unstructured.Unstructured{o})
	}
}

// object applies a document.
func (s server) object(t *testing.T, text string) {
	t.Helper()
	o := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	s.install(t, []*unstructured.Unstructured{o})
}

// spazio-testbed uses its permissions, and no others, from a Testbed's first placeholder through jobs
// of each kind to its end.
func TestRightsOfTestbeds(t *testing.T) {
	client, _ := cluster.Connect(t)
	s, k := connect(t), kubelet{client}
	objects := variant(t, "testbed")
	s.operators(t)
	s.begin(t, client, objects)
	all := workloads(t, objects)
	k.certificates(t, all)
	program := k.place(t, find(t, all, "spazio-testbed"), "")
	// As with an API server without streaming lists: reflectors list then.
	program.Env = []string{"KUBE_FEATURE_WatchListClient=false"}
	program.Start(t)
	cluster.Eventually(t, "spazio-testbed is ready", func() (bool, any) {
		response, err := http.Get("http://" + program.ports[9704] + "/readyz")
		if err != nil {
			return false, err
		}
		response.Body.Close()
		return response.StatusCode == http.StatusOK, response.Status
	})

	worker := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker", Labels: map[string]string{"example.com/lab": "1"}}}
	if _, err := client.CoreV1().Nodes().Create(t.Context(), worker, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = client.CoreV1().Nodes().Delete(context.Background(), worker.Name, metav1.DeleteOptions{})
		cluster.Remove(t, client)
	})
	const head = "apiVersion: testbed.spazio-scheduler.github.io/v1alpha1\n"
	// The Schedulings' namespace is matched by a selector, for which namespaces are read.
	s.object(t, head+`kind: Testbed
metadata: {name: lab, namespace: default}
spec: {nodeLabel: example.com/lab, slotsPerNode: 3, resourcesPerSlot: {cpu: 1, memory: 1Gi}, allowedNamespaces: {from: Selector, selector: {matchLabels: {kubernetes.io/metadata.name: scheduling}}}}
`)
	s.object(t, "{apiVersion: v1, kind: Namespace, metadata: {name: scheduling}}")
	for name, spec := range map[string]string{
		"plain": "jobSpec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i.example}]}}}",
		"spark": "sparkSpec: {type: Scala, mode: cluster, sparkVersion: 4.0.0, executor: {}}",
		"flink": "flinkSpec: {job: {jarURI: 'local:///x.jar'}}",
	} {
		s.object(t, head+"kind: BatchJob\nmetadata: {name: "+name+", namespace: default}\nspec: {allowedNamespaces: {from: All}, "+spec+"}\n")
	}
	bindPlaceholders(t, client, 3)
	ask(t, client, program, "scheduling", `{"name": "first", "testbed": "default/lab", "ttlSecondsAfterFinished": 0, "queue": ["default/plain", "default/spark", "default/flink"]}`)
	for field := range children {
		s.end(t, client, field)
	}
	schedulings := s.Resource(v1alpha1.GroupVersion.WithResource(v1alpha1.Schedulings)).Namespace("scheduling")
	cluster.Eventually(t, "the Scheduling has ended and is deleted", func() (bool, any) {
		o, err := schedulings.Get(t.Context(), "first", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, nil
		}
		return false, fmt.Sprint(o, err)
	})
	for resource, names := range map[string][]string{v1alpha1.BatchJobs: {"plain", "spark", "flink"}, v1alpha1.Testbeds: {"lab"}} {
		of := s.Resource(v1alpha1.GroupVersion.WithResource(resource)).Namespace(metav1.NamespaceDefault)
		for _, name := range names {
			if err := of.Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			cluster.Eventually(t, name+" goes", func() (bool, any) {
				o, err := of.Get(t.Context(), name, metav1.GetOptions{})
				return apierrors.IsNotFound(err), fmt.Sprint(o, err)
			})
		}
	}
	// At its end it releases the lease.
	program.Interrupt(t)
	grants := grantsOf(t, s, slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetName() != "spazio-testbed" }))
	requested := audited.requested()
	for _, r := range requested[testbedAccount] {
		if !covered(grants[testbedAccount], []request{r}) {
			t.Errorf("got request %s, which none of its bindings allows", r)
		}
	}
	if found := slices.DeleteFunc(idle(grants, requested), rarely); len(found) > 0 {
		t.Errorf("got unused permissions:\n%s", strings.Join(found, "\n"))
	}
}

// ask creates a scheduling through the interface, as a program with the role for that.
func ask(t *testing.T, client kubernetes.Interface, program *container, namespace, body string) {
	t.Helper()
	const name = "asker"
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := client.CoreV1().ServiceAccounts(namespace).Create(t.Context(), account, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	user := "system:serviceaccount:" + namespace + ":" + name
	bind(t, client, "spazio-external-scheduler", user, namespace)
	cluster.Eventually(t, "the right is known", func() (bool, any) { // refusals are cached
		allowed, err := may(t, client, user, namespace, ours("schedulings"), "create")
		return allowed, err
	})
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{"spazio-external"}}}
	request, err := client.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), name, request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	authority, err := os.ReadFile(flag(t, program, "tls-dir") + "/ca.crt")
	if err != nil {
		t.Fatal(err)
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(authority)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, ServerName: "spazio-testbed.spazio-system.svc", MinVersion: tls.VersionTLS13}}
	defer transport.CloseIdleConnections()
	cluster.Eventually(t, "the interface takes a scheduling", func() (bool, any) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://"+program.ports[9695]+"/external/v1/namespaces/"+namespace+"/schedulings", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", "Bearer "+request.Status.Token)
		r.Header.Set("Content-Type", "application/json")
		response, err := transport.RoundTrip(r)
		if err != nil {
			return false, err
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		return response.StatusCode == http.StatusCreated, string(text)
	})
}

// rarely reports whether a permission is for a case that does not occur here: another author created
// what a job runs, or leader events are of the other group.
func rarely(idle string) bool {
	for _, right := range []string{"[get] [batch]/[jobs]", "[get] [sparkoperator.k8s.io]/[sparkapplications]", "[get] [flink.apache.org]/[flinkdeployments]", "/[events]"} {
		if strings.Contains(idle, right) {
			return true
		}
	}
	return false
}

// bindPlaceholders acts as the scheduler and a kubelet, until so many placeholders run.
func bindPlaceholders(t *testing.T, client kubernetes.Interface, want int) {
	t.Helper()
	pods := client.CoreV1().Pods(metav1.NamespaceDefault)
	cluster.Eventually(t, "placeholders are bound", func() (bool, any) {
		list, err := pods.List(t.Context(), metav1.ListOptions{LabelSelector: v1alpha1.LabelRole + "=" + v1alpha1.RolePlaceholder})
		if err != nil {
			return false, err
		}
		bound := 0
		for _, p := range list.Items {
			if p.Spec.NodeName == "" {
				node, _, _ := strings.Cut(p.Annotations[v1alpha1.AnnotationSlot], "/")
				binding := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: p.Name}, Target: corev1.ObjectReference{Kind: "Node", Name: node}}
				if err := pods.Bind(t.Context(), binding, metav1.CreateOptions{}); err != nil {
					return false, err
				}
			}
			bound++
		}
		return bound == want, list.Items
	})
}

// end marks a job's application, once it exists, as succeeded.
func (s server) end(t *testing.T, client kubernetes.Interface, field string) {
	t.Helper()
	of := s.Resource(children[field]).Namespace(metav1.NamespaceDefault)
	name := map[string]string{"jobSpec": "plain-r1", "sparkSpec": "spark-r1", "flinkSpec": "flink-r1"}[field]
	now := metav1.Now()
	cluster.Eventually(t, name+" succeeds", func() (bool, any) {
		var err error
		switch field {
		case "jobSpec":
			var o *batchv1.Job
			if o, err = client.BatchV1().Jobs(metav1.NamespaceDefault).Get(t.Context(), name, metav1.GetOptions{}); err != nil {
				return false, err
			}
			o.Status = batchv1.JobStatus{StartTime: &now, CompletionTime: &now, Succeeded: 1, Conditions: []batchv1.JobCondition{
				{Type: batchv1.JobSuccessCriteriaMet, Status: corev1.ConditionTrue, LastTransitionTime: now},
				{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: now},
			}}
			_, err = client.BatchV1().Jobs(metav1.NamespaceDefault).UpdateStatus(t.Context(), o, metav1.UpdateOptions{})
		case "sparkSpec":
			_, err = of.Patch(t.Context(), name, types.MergePatchType, []byte(`{"status": {"applicationState": {"state": "COMPLETED"}}}`), metav1.PatchOptions{}, "status")
		default:
			_, err = of.Patch(t.Context(), name, types.MergePatchType, []byte(`{"status": {"jobStatus": {"state": "FINISHED"}}}`), metav1.PatchOptions{}, "status")
		}
		return err == nil, err
	})
}
