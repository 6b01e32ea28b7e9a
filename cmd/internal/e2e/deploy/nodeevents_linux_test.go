package deploy

import (
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/cmd/internal/e2e/cluster"
	"github.com/spazio-scheduler/spazio/node/publish"
)

// Nodes get an event when their agents fall silent, from the leader only, with the manifests'
// permissions and once: the next leader continues where the former stopped.
func TestNodeEvents(t *testing.T) {
	client, _ := cluster.Connect(t)
	s, k := connect(t), kubelet{client}
	objects := variant(t, install)
	s.begin(t, client, objects)
	all := workloads(t, objects)
	k.certificates(t, all)
	const after = "signalLostAfter: 12s"
	schedulers := []*container{k.scheduler(t, all, after), k.scheduler(t, all, after)}
	nodes := cluster.NewPlaceNodesWith(t, client, 3, cluster.Places, func(node string) publish.SignalsConfig {
		return k.place(t, find(t, all, "spazio-agent"), node).reports(t, schedulers)
	})
	for _, s := range schedulers {
		cluster.WaitMetric(t, s.scraper(t), `spazio_nodes{state="fresh"}`, 3)
	}
	first := lead(t, schedulers)
	nodes[0].KillAgent()
	lost := waitEvent(t, client, nodes[0].Name(), "SpazioSignalLost")
	if lost.Type != "Warning" || lost.Regarding.UID == "" || !strings.Contains(lost.Note, "of 3 nodes are silent") {
		t.Errorf("%+v", lost)
	}
	first.Kill(t)
	for _, s := range schedulers {
		if s != first {
			lead(t, []*container{s})
		}
	}
	nodes[1].KillAgent()
	second := waitEvent(t, client, nodes[1].Name(), "SpazioSignalLost")
	nodes[0].StartAgent(t)
	back := waitEvent(t, client, nodes[0].Name(), "SpazioSignalBack")
	if second.Type != "Warning" || back.Type != "Normal" || !strings.HasPrefix(back.Note, "its agent reports again") {
		t.Errorf("second leader: got events %+v and %+v", second, back)
	}
	again := eventsOf(t, client, nodes[0].Name(), "SpazioSignalLost")
	if len(again) != 1 || again[0].Series != nil {
		t.Errorf("got %d events of the silence: %+v", len(again), again)
	}
}

// eventsOf returns the events of a node with a reason.
func eventsOf(t *testing.T, client kubernetes.Interface, node, reason string) (found []eventsv1.Event) {
	t.Helper()
	all, err := client.EventsV1().Events(metav1.NamespaceDefault).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all.Items {
		if e.Regarding.Kind == "Node" && e.Regarding.Name == node && e.Reason == reason {
			found = append(found, e)
		}
	}
	return found
}

// waitEvent returns the first event of a node with a reason.
func waitEvent(t *testing.T, client kubernetes.Interface, node, reason string) (found eventsv1.Event) {
	t.Helper()
	cluster.Eventually(t, node+" has event "+reason, func() (bool, any) {
		events := eventsOf(t, client, node, reason)
		if len(events) > 0 {
			found = events[0]
		}
		return len(events) > 0, nil
	})
	return found
}
