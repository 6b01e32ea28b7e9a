// Package podforward speaks HTTP with a port on the loopback of a pod, to which the
// API server forwards: what a program shows there alone can be asked for from anywhere
// by whoever may create pods/portforward, and by nobody else. No port is opened on this
// machine.
//
//	t, err := podforward.New(podforward.Config{
//		Cluster: config, Namespace: "spazio-system", Port: 9694,
//		Find: podforward.Leader("spazio-scheduler"),
//	})
//	client := &http.Client{Transport: t, Timeout: 5 * time.Second}
//	response, err := client.Get("http://pod/debug/spazio")
//
// The pod is found anew for each request, by its name, by a lease that it holds or by
// its labels ([Finder]).
package podforward
