package plugin

import (
	"fmt"
	"sync"

	"github.com/spazio-scheduler/spazio/agent"
	"github.com/spazio-scheduler/spazio/reserve"
)

// refusals holds the status messages of a node's refusals by reason. They are
// shared by all nodes with the same shortest resource, so that refusing costs
// no string.
type refusals struct {
	// id numbers them from 0 to maxChannels.
	id   int
	text [reserve.NoMemory + 1][]string
}

// maxChannels bounds the channel names that messages are kept for: a report
// may carry any name.
const maxChannels = 64

// nameless are the refusals that name no resource.
var nameless = newRefusals(0, "")

var messages = struct {
	sync.RWMutex
	byChannel map[string]*refusals
	all       []*refusals
}{byChannel: map[string]*refusals{"": nameless}, all: []*refusals{nameless}}

func refusalsFor(r *agent.Report) *refusals {
	if r == nil || r.Limiting == "" {
		return nameless
	}
	messages.RLock()
	known := messages.byChannel[r.Limiting]
	messages.RUnlock()
	if known != nil {
		return known
	}
	messages.Lock()
	defer messages.Unlock()
	if known := messages.byChannel[r.Limiting]; known != nil {
		return known
	}
	if len(messages.all) > maxChannels {
		return nameless
	}
	made := newRefusals(len(messages.all), r.Limiting)
	messages.byChannel[r.Limiting] = made
	messages.all = append(messages.all, made)
	return made
}

// allRefusals returns all that were made so far, by id.
func allRefusals() []*refusals {
	messages.RLock()
	defer messages.RUnlock()
	return messages.all
}

func newRefusals(id int, channel string) *refusals {
	shortest := ""
	if channel != "" {
		shortest = fmt.Sprintf(", shortest in %s", channel)
	}
	r := &refusals{id: id}
	r.text[reserve.Stale] = []string{"node(s) without a current capacity report"}
	r.text[reserve.Saturated] = []string{"node(s) saturated" + shortest}
	r.text[reserve.NoRoom] = []string{"node(s) without room for another pod" + shortest}
	r.text[reserve.NoCPU] = []string{"node(s) without enough CPU for what the pod is expected to take"}
	r.text[reserve.NoMemory] = []string{"node(s) without enough memory for what the pod is expected to take"}
	r.text[reserve.SlowStart] = []string{"node(s) with too many pods still starting"}
	return r
}

// namesResource says whether the reason's message tells the resource.
func namesResource(reason reserve.Reason) bool {
	return reason == reserve.Saturated || reason == reserve.NoRoom
}
