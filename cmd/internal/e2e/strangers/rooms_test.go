package strangers

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/spazio-scheduler/spazio/api/transport"
	"github.com/spazio-scheduler/spazio/api/transport/transporttest"
	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/operator/room"
	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/simnode/simnodetest"
)

// A controller of test beds reads what nodes have room for, and what ghosts hold of it,
// by a token of its account; nobody else does. A scheduler that comes again, and knows
// nothing but what the API server has, tells it the same.
func TestOnlyTheControllerReadsRooms(t *testing.T) {
	if plugin.GhostLabel != v1alpha1.LabelRole || plugin.RoleGhost != v1alpha1.RoleGhost || plugin.UnitsAnnotation != v1alpha1.AnnotationUnits {
		t.Fatal("the scheduler and the controllers do not mean the same by a ghost")
	}
	client, kubeconfig := cluster.Connect(t)
	identity := transporttest.SelfSigned(t, "127.0.0.1")
	args := plugin.SpazioArgs{
		Listen: transporttest.Address(t), TLSCertFile: identity.CertFile, TLSKeyFile: identity.KeyFile,
		AgentServiceAccount: metav1.NamespaceDefault + "/" + agentAccount, ControllerServiceAccount: metav1.NamespaceDefault + "/controller",
	}
	_, stop := cluster.StartScheduler(t, kubeconfig, args, plugin.HubOptions{})
	const node = "node-of-slots"
	simnodetest.Register(t, client, node)
	accounts(t, client, agentAccount, "controller")
	t.Cleanup(func() { simnodetest.Remove(t, client) })
	ghost := func(name, units string) *corev1.Pod {
		t.Helper()
		pod, err := client.CoreV1().Pods(metav1.NamespaceDefault).Create(t.Context(), &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Labels: map[string]string{v1alpha1.LabelRole: v1alpha1.RoleGhost},
				Annotations: map[string]string{v1alpha1.AnnotationUnits: units},
			},
			Spec: corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "spazio.invalid/none"}}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return pod
	}
	first := ghost("ghost-0", "1.5")
	ghost("ghost-1", "2")

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
	stranger := watch(tokenFor(t, client, agentAccount, "spazio-scheduler", agentPod(t, client, agentAccount, node)))
	rooms := watch(tokenFor(t, client, "controller", "spazio-scheduler", nil))
	held := func(want float64) {
		t.Helper()
		simnodetest.Eventually(t, "the room that ghosts hold", func() (bool, any) {
			r, known := rooms.Room(node)
			return known && r.Held == want, r
		})
	}
	held(3.5)
	stop()
	now := int64(0)
	if err := client.CoreV1().Pods(metav1.NamespaceDefault).Delete(t.Context(), first.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	cluster.StartScheduler(t, kubeconfig, args, plugin.HubOptions{})
	held(2)
	if _, ok := stranger.Room(node); ok || !stranger.Heard().IsZero() {
		t.Error("an agent's token is enough to read rooms")
	}
}
