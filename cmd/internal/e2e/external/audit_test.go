package external

import (
	"fmt"
	"slices"
	"sync"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/spazio-scheduler/spazio/operator/v1alpha1"
)

// auditLog records the writes to the interface's objects, from the API server's audit. Safe for
// concurrent use.
type auditLog struct {
	mu     sync.Mutex
	writes []string
}

// audited is the process's log.
var audited auditLog

func (l *auditLog) add(e auditv1.Event) {
	if e.ObjectRef == nil || e.ObjectRef.APIGroup != v1alpha1.GroupVersion.Group || e.ObjectRef.Subresource != "" ||
		slices.Contains([]string{"get", "list", "watch"}, e.Verb) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writes = append(l.writes, fmt.Sprintf("%s %s %s/%s by %s", e.Verb, e.ObjectRef.Resource, e.ObjectRef.Namespace, e.ObjectRef.Name, e.User.Username))
}

// of returns the writes in a namespace by the account of spazio-testbed, without those of its
// controllers, which set finalizers before anything else is done.
func (l *auditLog) of(namespace string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var found []string
	for _, w := range l.writes {
		var verb, resource, object, by, who string
		if _, err := fmt.Sscan(w, &verb, &resource, &object, &by, &who); err == nil && who == programAccount && object[:min(len(object), len(namespace)+1)] == namespace+"/" {
			found = append(found, verb+" "+resource+" "+object)
		}
	}
	return found
}
