// Package podforward speaks HTTP with a port on the loopback of a pod, to which the
// API server forwards: what a program serves there can be read from anywhere, but only
// with the right to create pods/portforward. No port is opened on this machine.
//
//	c, err := podforward.NewClient(podforward.Config{
//		Cluster: config, Namespace: "spazio-system", Port: 9694,
//		Find: podforward.Leader("spazio-scheduler"),
//	}, 5*time.Second)
//	status, err := podforward.Decode[plugin.Status](ctx, c, plugin.DebugPath, nil)
//
// The pod is found anew for each request, by its name, by a lease that it holds or by
// its labels ([Finder]). A [Transport] is the same for an http.Client of one's own.
//
// Types that do not speak of concurrent use are plain values.
package podforward
