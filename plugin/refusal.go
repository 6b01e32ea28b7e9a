package plugin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spazio-scheduler/spazio/reserve"
)

// Refusal counts the nodes that took no pod for the same reason.
type Refusal struct {
	Nodes   int    `json:"nodes"`
	Message string `json:"message"`
}

// inWords returns the refusals as the scheduler itself would count them in an event.
func inWords(list []Refusal) string {
	parts := make([]string, len(list))
	for i, r := range list {
		parts[i] = fmt.Sprint(r.Nodes, " ", r.Message)
	}
	return strings.Join(parts, ", ")
}

// messages are the status messages of refusals by reason.
var messages = [...]string{
	reserve.Stale:     "node(s) without a current capacity report",
	reserve.Saturated: "node(s) saturated",
	reserve.NoRoom:    "node(s) without room for another pod",
	reserve.SlowStart: "node(s) with too many pods still starting",
	reserve.NoCPU:     "node(s) without enough CPU for what the pod is expected to take",
	reserve.NoMemory:  "node(s) without enough memory for what the pod is expected to take",
}

// refusalCounts counts refused nodes by the message of their status.
type refusalCounts struct {
	nodes     int
	byReason  [reserve.NoMemory + 1]int
	byMessage []messageCount
}

// messageCount counts the nodes that are refused for a reason, those that are saturated or have no
// room by their shortest resource.
type messageCount struct {
	reason   reserve.Reason
	shortest string
	nodes    int
	// text is the status message. All statuses of the count share it.
	text []string
}

// maxShortest bounds how many messages name a resource, because a report may carry any name.
const maxShortest = 64

// find returns the place in byMessage of a node that is refused as seen in v.
func (t *refusalCounts) find(v *view, reason reserve.Reason) int {
	shortest := ""
	if reason == reserve.Saturated || reason == reserve.NoRoom {
		shortest = v.shortest
	}
	for i := range t.byMessage {
		if c := &t.byMessage[i]; c.reason == reason && (c.shortest == shortest || i >= maxShortest && c.shortest == "") {
			return i
		}
	}
	message := messages[reason]
	if len(t.byMessage) >= maxShortest {
		shortest = ""
	}
	if shortest != "" {
		message += ", shortest in " + shortest
	}
	t.byMessage = append(t.byMessage, messageCount{reason: reason, shortest: shortest, text: []string{message}})
	return len(t.byMessage) - 1
}

// add counts so many nodes more, or fewer, that are refused with the message at a place.
func (t *refusalCounts) add(message, nodes int) {
	c := &t.byMessage[message]
	c.nodes += nodes
	t.nodes += nodes
	t.byReason[c.reason] += nodes
}

// refusals returns the counts by message, in the messages' order.
func (t *refusalCounts) refusals() []Refusal {
	var list []Refusal
	for _, c := range t.byMessage {
		if c.nodes > 0 {
			list = append(list, Refusal{Nodes: c.nodes, Message: c.text[0]})
		}
	}
	slices.SortFunc(list, func(a, b Refusal) int { return strings.Compare(a.Message, b.Message) })
	return list
}
