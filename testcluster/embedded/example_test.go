package embedded_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/spazio-scheduler/spazio/testcluster/embedded"
)

func ExampleStart() {
	ctx := context.Background()
	plane, err := embedded.Start(ctx, embedded.Config{RBAC: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer plane.Close()

	// A user without any role may do nothing.
	user, err := plane.UserConfig("alice")
	if err != nil {
		fmt.Println(err)
		return
	}
	client, err := kubernetes.NewForConfig(user)
	if err != nil {
		fmt.Println(err)
		return
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "hello"}}
	_, err = client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
	fmt.Println(err)
	// Output:
	// pods is forbidden: User "alice" cannot create resource "pods" in API group "" in the namespace "default"
}
