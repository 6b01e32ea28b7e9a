// Package plugin is a kube-scheduler plugin that places pods by what their
// nodes measure.
//
// Each node's agent streams reports: avail, a lower bound of the pods that
// still fit, and the pods it already counts. A [Hub] receives them, keeps the
// ledger of the pods in flight (package reserve), and is the factory of the
// plugin:
//
//	hub := plugin.NewHub(plugin.HubOptions{})
//	command := app.NewSchedulerCommand(app.WithPlugin(plugin.Name, hub.New))
//
// One Hub serves all profiles of a scheduler that enable the plugin. What a pod
// passes through:
//
//	PreFilter  remember the pod as waiting, then ask of each node whether it has
//	           room: reserve.View.Fits; the cycle keeps the answers
//	Filter     refuse the nodes without room, unless all have it or, for a pod that
//	           asks nothing else of its node, none has it (the pod is refused at
//	           once) or so few that PreFilter names them
//	Score      rank by room, and with SpazioArgs.EnergyWeight by energy:
//	           reserve.Score, normalised to 0..100
//	Reserve    ask again, of the node as it is now, and put the pod in flight
//	PreBind    mark a pod that goes to a node without room, for it has waited for
//	           too long: reserve.OverdueAdmission
//	PostBind   tell the node's agent that a pod is coming
//
// A signal is not an API object, so no event of the API wakes a pod when room
// appears. The Hub does: when a report, a deletion or a failed bind raises the
// slots of a node, pods that wait for that node are activated, by priority, then
// age, as many as it has slots. A pod waits for the nodes that the plugin alone
// refused it. To know them the plugin's Filter has to run after those of the
// other plugins, as it does where it is enabled as a MultiPoint plugin beside the
// default ones: a plugin that filters after it may have pods tried in vain, once
// for each time that a node rises.
//
// A pod that got a slot and then was not bound, for another plugin (a gang's, say)
// or the API refused it, is next activated after a second, then two, and so on.
//
// Why a pod waits is shown in three places: the event counts the nodes by reason
// and by the resource that is shortest, [Hub.Explain] gives each node's room and
// score, and [Hub.Handler] serves both over HTTP.
//
// Agents that measure power report it, and what each pod takes. The Hub keeps what
// pods of each workload take (energy.Book) and so how many cores a pod will keep busy;
// how good a node is for it (energy.Goodness) is a part of the score and refuses no
// node. What a node says of its power is its own word: it makes it at most four times
// as good as the fleet's median, which is found once a second, and a node is heard on
// its own pods alone. A node of which nothing is known counts as an average one; where
// nothing is known of any, pods are placed as without energy.
//
// Each agent keeps one stream. The newest takes the place of others; one that
// does not read its notices, no longer reports, or sends a heartbeat of another
// report than the node's is closed; a node that reports too often has its newest report take effect a little later. Nothing an agent
// does delays the scheduler. With SpazioArgs.AgentServiceAccount a stream must
// show the token of a pod of that account and may report on that pod's node
// alone; the scheduler's own account then needs to create
// tokenreviews.authentication.k8s.io, as that of kube-scheduler does by default.
//
// The package needs k8s.io/kube-scheduler/framework and client-go, not
// k8s.io/kubernetes, so that any scheduler binary can register it.
//
// Types that do not speak of concurrent use are plain values.
package plugin
