// Package plugintest checks a scheduler that has the plugin against what its Hub reports. It is
// for tests of a whole cluster, in which only the Hub knows what each node had reported when it
// was given a pod.
//
//	reservations := &plugintest.Reservations{}
//	hub := plugin.NewHub(plugin.HubOptions{OnReserve: reservations.Observe})
//	room := plugintest.WatchRoom(hub)
//	…
//	if longest := room.Stop(); longest > config.DefaultRetryPeriod { … }
//	for _, fault := range reservations.Faults() { … }
//
// EmptyTemp checks that a test leaves no temporary files; it needs no cluster.
package plugintest
