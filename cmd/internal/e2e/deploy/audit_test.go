package deploy

import (
	"sync"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// auditLog is what the API server was asked. It is safe for concurrent use.
type auditLog struct {
	mu     sync.Mutex
	events []auditv1.Event
}

// audited is the process's log.
var audited auditLog

func (l *auditLog) add(e auditv1.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e)
}
