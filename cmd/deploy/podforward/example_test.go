package podforward_test

import (
	"fmt"
	"net/http"
	"time"

	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/cmd/deploy/podforward"
)

func ExampleNew() {
	config := &rest.Config{Host: "https://cluster.example"} // or clientcmd's of a kubeconfig
	t, err := podforward.New(podforward.Config{
		Cluster: config, Namespace: "spazio-system", Port: 9694, Find: podforward.Leader("spazio-scheduler"),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	client := &http.Client{Transport: t, Timeout: 5 * time.Second}
	fmt.Println(client.Timeout) // client.Get("http://pod/debug/spazio")
	_, err = podforward.New(podforward.Config{Cluster: config, Namespace: "spazio-system"})
	fmt.Println(err)
	// Output:
	// 5s
	// podforward: Port = 0: invalid configuration or input: want 1 to 65535
}
