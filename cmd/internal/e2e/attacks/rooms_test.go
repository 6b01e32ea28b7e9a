package attacks

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/operator/room"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/plugin"
)

// Only a controller of test beds reads the nodes' rooms, and what placeholders hold of them, with a
// token of its account. A restarted scheduler, which has only the API server's objects, publishes the
// same.
func TestOnlyTheControllerReadsRooms(t *testing.T) {
	client, kubeconfig := cluster.Connect(t)
	bed := newTestbed(t, "1750m")
	identity := transporttest.SelfSigned(t, "127.0.0.1")
	args := plugin.SpazioArgs{
		Listen: transporttest.Address(t), TLSCertFile: identity.CertFile, TLSKeyFile: identity.KeyFile,
		AgentServiceAccount: metav1.NamespaceDefault + "/" + agentAccount, ControllerServiceAccount: metav1.NamespaceDefault + "/controller",
	}
	_, stop := cluster.StartScheduler(t, kubeconfig, args, plugin.HubOptions{})
	const node = "node-of-slots"
	cluster.Register(t, client, node)
	accounts(t, client, agentAccount, "controller")
	t.Cleanup(func() { cluster.Remove(t, client) })
	// Each has the marks of a placeholder, and one more that was read before.
	placeholder := func(name string) *corev1.Pod {
		t.Helper()
		pod, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name:   name,
				Labels: map[string]string{v1alpha1.LabelRole: v1alpha1.RolePlaceholder, v1alpha1.LabelTestbedUID: string(bed.GetUID())},
				Annotations: map[string]string{
					v1alpha1.AnnotationSlot: node + "/0", v1alpha1.AnnotationOptOut: "true", v1alpha1.Prefix + "units": "1000000",
				},
				OwnerReferences: []metav1.OwnerReference{{
					APIVersion: bed.GetAPIVersion(), Kind: bed.GetKind(), Name: bed.GetName(), UID: bed.GetUID(),
				}},
			},
			Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "spazio.invalid/none"}}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return pod
	}
	first, second := placeholder("placeholder-0"), placeholder("placeholder-1")
	placeholder("foreign")

	watch := func(token string) *room.Client {
		t.Helper()
		ctx, cancel := context.WithCancel(context.Background())
		w, err := room.Watch(ctx, room.Config{
			Target: args.Listen, Transport: transport.Config{CAFile: identity.CAFile}, TokenFile: token, MaxWait: 200 * time.Millisecond,
		})
		if err != nil {
			cancel()
			t.Fatal(err)
		}
		t.Cleanup(func() {
			cancel()
			w.Wait()
		})
		return w
	}
	foreign := watch(tokenFor(t, client, agentAccount, "spazio-scheduler", agentPod(t, client, agentAccount, node)))
	rooms := watch(tokenFor(t, client, "controller", "spazio-scheduler", nil))
	reads := func(held, inFlight float64) {
		t.Helper()
		cluster.Eventually(t, "the room that placeholders hold", func() (bool, any) {
			r, known := rooms.Room(node)
			return known && r.Held == held && r.InFlight == inFlight, r
		})
	}
	reads(0, 4) // whatever their marks; the agent's pod is the fourth
	bed.name(t, first, second)
	reads(3.5, 2)
	stop()
	now := int64(0)
	if err := client.CoreV1().Pods(metav1.NamespaceDefault).Delete(t.Context(), first.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	cluster.StartScheduler(t, kubeconfig, args, plugin.HubOptions{})
	reads(1.75, 2)
	if _, ok := foreign.Room(node); ok || !foreign.Heard().IsZero() {
		t.Error("rooms were readable with an agent's token")
	}
}

// bedObject is a Testbed of the API server.
type bedObject struct {
	*unstructured.Unstructured
	client dynamic.ResourceInterface
}

// newTestbed defines Testbeds in the API server, until the test's end, and creates one whose slots hold
// room for so many pods.
func newTestbed(t *testing.T, units string) *bedObject {
	t.Helper()
	all, err := dynamic.NewForConfig(cluster.Plane(t).RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	texts := v1alpha1.CRDs()
	definitions := all.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	for _, text := range texts {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &o.Object); err != nil {
			t.Fatal(err)
		}
		if _, err := definitions.Create(t.Context(), o, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = definitions.Delete(context.Background(), o.GetName(), metav1.DeleteOptions{}) })
	}
	bed := &bedObject{client: all.Resource(v1alpha1.GroupVersion.WithResource(v1alpha1.Testbeds)).Namespace(metav1.NamespaceDefault)}
	cluster.Eventually(t, "a Testbed is made", func() (bool, any) {
		bed.Unstructured, err = bed.client.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Testbed", "metadata": map[string]any{"name": "bed"},
			"spec": map[string]any{
				"nodeLabel": "none", "slotsPerNode": v1alpha1.SlotsAuto, "auto": map[string]any{"unitsPerSlot": units},
			},
			// A user's status is dropped: only the controller may write it.
			"status": map[string]any{"placeholders": "of-a-user"},
		}}, metav1.CreateOptions{})
		return err == nil, err
	})
	if of, _, _ := unstructured.NestedString(bed.Object, "status", "placeholders"); of != "" {
		t.Fatalf("a user's status names %q", of)
	}
	return bed
}

// name writes the pods into the Testbed's status.
func (b *bedObject) name(t *testing.T, pods ...*corev1.Pod) {
	t.Helper()
	bed := v1alpha1.Testbed{}
	for _, pod := range pods {
		bed.Status.Placeholders += string(pod.UID) + " "
	}
	b.Object["status"] = map[string]any{"placeholders": bed.Status.Placeholders, "counts": b.counts()}
	if _, err := b.client.UpdateStatus(t.Context(), b.Unstructured, metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict}); err != nil {
		t.Fatal(err)
	}
}

// counts returns the further required fields of a status.
func (*bedObject) counts() map[string]any {
	all := map[string]any{}
	for _, state := range []string{"slots", "free", "reserved", "occupied", "pending", "retiring"} {
		all[state] = int64(0)
	}
	return all
}
