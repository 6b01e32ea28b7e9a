package embedded

import (
	"sync"

	"k8s.io/apiserver/pkg/apis/audit"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/apiserver/pkg/audit/policy"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapiserver "k8s.io/apiserver/pkg/server"
)

// auditHook is an audit backend that hands each event to a function, until it is
// stopped. It is safe for concurrent use.
type auditHook struct {
	call func(auditv1.Event)

	mu      sync.RWMutex
	stopped bool
}

// install makes the hook the server's backend. The aggregator's server is the
// outermost of three: no request passes it by.
func (h *auditHook) install(outermost *genericapiserver.Config) {
	outermost.AuditBackend = h
	outermost.AuditPolicyRuleEvaluator = policy.NewPolicyRuleEvaluator(&audit.Policy{
		OmitStages: []audit.Stage{audit.StageRequestReceived},
		Rules: []audit.PolicyRule{
			{Level: audit.LevelNone, Users: []string{user.APIServerUser}},
			{Level: audit.LevelMetadata},
		},
	})
}

// ProcessEvents implements audit.Backend.
func (h *auditHook) ProcessEvents(events ...*audit.Event) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if h.stopped {
		return false
	}
	for _, e := range events {
		var event auditv1.Event
		// The server uses its event again.
		if err := auditv1.Convert_audit_Event_To_v1_Event(e.DeepCopy(), &event, nil); err != nil {
			return false
		}
		h.call(event)
	}
	return true
}

// stop returns when no call is under way, and none follows.
func (h *auditHook) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
}

// Run implements audit.Backend.
func (h *auditHook) Run(<-chan struct{}) error { return nil }

// Shutdown implements audit.Backend.
func (h *auditHook) Shutdown() {}

func (h *auditHook) String() string { return "embedded" }
