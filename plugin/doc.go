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
// One Hub serves all profiles of a scheduler that enable the plugin. A pod passes
// these extension points:
//
//	PreFilter  records that the pod waits, then decides for each node whether it has
//	           room (reserve.View.Fits); the cycle keeps the answers
//	Filter     refuses the nodes without room. It is skipped if all nodes have room. A
//	           pod without constraints of its own skips it also if no node has room
//	           (the pod is refused at once) or few have (PreFilter names them)
//	Score      ranks by room, and with SpazioArgs.EnergyWeight also by energy:
//	           reserve.Score, normalised to 0..100
//	Reserve    decides again for the chosen node as it is now, and puts the pod in flight
//	PreBind    marks a pod that goes to a node without room because it is overdue:
//	           reserve.OverdueAdmission
//	PostBind   notifies the node's agent that a pod is coming
//
// A report is not an API object, so no event of the API wakes a pod when room
// appears. The Hub does: when a report, a deletion or a failed bind raises the
// slots of a node, pods that wait for that node are activated, by priority, then
// age, as many as it has slots. A pod waits for the nodes that only this plugin
// refused. To know them, its Filter has to run after those of the other plugins,
// which is the case if it is enabled as a MultiPoint plugin beside the default
// ones. If another plugin filters after it, a pod may be tried without success, at most
// once each time a node gains room.
//
// All profiles of a scheduler share one queue. With the queue sort plugin [ShortestFirst], which
// [Hub.NewShortestFirst] makes, pods of workloads whose pods live for less go first in that queue and
// among the waiting pods ([placement.Lives]). It is a plugin of its own because kube-scheduler takes
// one queue sort, with equal arguments in all profiles, and a MultiPoint plugin that had one would
// bring it along.
//
// A pod that was granted a slot and then not bound, because another plugin (of a
// gang, for example) or the API refused it, is next activated after a second, then
// two, and so on.
//
// The reason why a pod waits is shown in three places: the event counts the nodes by
// reason and by the resource that is shortest, [Hub.Explain] returns each node's room
// and score, and [Hub.Handler] serves both over HTTP.
//
// Agents that measure power report it, and the power of each pod. The Hub keeps what
// pods of each workload take (energy.Book) and so estimates how many cores a pod will
// keep busy. How good a node is for the pod (energy.Goodness) is a part of the score
// and never refuses a node. A node's report of its power is not trusted beyond a
// limit: it makes the node at most four times as good as the fleet's median, which is
// computed once a second, and a node may report only on its own pods. A node of
// unknown power counts as an average one. If no node's power is known, pods are placed
// as without energy.
//
// Each agent keeps one stream, and a node's newest stream replaces the one before. A
// stream is closed if its agent does not read its notices, stops reporting, or sends a
// heartbeat that refers to another report than the node's. If a node reports too
// often, its newest report takes effect a little later. Nothing an agent does delays
// the scheduler. With SpazioArgs.AgentServiceAccount a stream must present the token
// of a pod of that account and may report only on that pod's node; the scheduler's own
// account then needs to create tokenreviews.authentication.k8s.io, as that of
// kube-scheduler may by default.
//
// The package needs k8s.io/kube-scheduler/framework and client-go, not
// k8s.io/kubernetes, so that any scheduler binary can register it.
//
// Types whose documentation does not mention concurrent use are plain values.
package plugin
