// Package plugintest judges a scheduler that has the plugin, by what its Hub says: for
// tests of a whole cluster, in which nobody else knows what every node reported when a
// pod was given to it.
//
//	reservations := &plugintest.Reservations{}
//	hub := plugin.NewHub(plugin.HubOptions{OnReserve: reservations.Observe})
//	room := plugintest.WatchRoom(hub)
//	…
//	if longest := room.Stop(); longest > config.DefaultRetryPeriod { … }
//	for _, fault := range reservations.Faults() { … }
//
// EmptyTemp is for tests of making one, which need no cluster.
package plugintest
