package simnode_test

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/spazio-scheduler/spazio/testcluster/simnode"
)

func ExampleStart() {
	ctx := context.Background()
	client := fake.NewClientset() // or Config.Cluster, a *rest.Config
	steps := make(chan string, 10)
	nodes, err := simnode.Start(ctx, simnode.Config{
		Client: client,
		Nodes:  3,
		Params: simnode.Params{Cores: 8},
		Clock:  simnode.NewClock(time.Now(), 100), // at a hundred times real speed
		Observer: func(e simnode.Event) {
			steps <- fmt.Sprintf("%s on %s: %v", e.Pod.Name, e.Node, e.Phase)
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer nodes.Close()

	// A scheduler would bind it; here it is created bound.
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: "hello", Namespace: "default", UID: "1",
			Annotations: map[string]string{simnode.AnnotationWork: "2.5", simnode.AnnotationMemory: "128Mi"},
		},
		Spec: corev1.PodSpec{NodeName: "node-2"},
	}
	if _, err := client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		fmt.Println(<-steps)
	}
	// Output:
	// hello on node-2: Bound
	// hello on node-2: Running
	// hello on node-2: Succeeded
}
