package controller

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/spazio-scheduler/spazio/testbed"
)

// memory is what a controller remembers of objects by their names. It saves requests, and
// never decides who has what. Safe for concurrent use; the zero value is empty.
type memory[T any] struct {
	mu sync.Mutex
	of map[types.NamespacedName]T
}

// get returns what is remembered of the object, the zero value if nothing is.
func (m *memory[T]) get(name types.NamespacedName) T {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.of[name]
}

func (m *memory[T]) set(name types.NamespacedName, value T) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of == nil {
		m.of = make(map[types.NamespacedName]T)
	}
	m.of[name] = value
}

func (m *memory[T]) forget(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.of, name)
}

// version is one version of an object.
type version struct {
	uid      types.UID
	resource string
}

func versionOf(o client.Object) version { return version{o.GetUID(), o.GetResourceVersion()} }

// isNewerThan reports whether v, which was written, is newer than the object, which a cache
// has: a step that is made of the object would only be refused. Versions that can't be
// compared, and those of another object of the name, are not newer.
func (v version) isNewerThan(o client.Object) bool {
	if v.uid != o.GetUID() {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(o.GetResourceVersion(), v.resource)
	return err == nil && order < 0
}

// writes are the versions of objects that a controller has written last.
type writes struct{ memory[version] }

func (w *writes) note(o client.Object) { w.set(client.ObjectKeyFromObject(o), versionOf(o)) }

// unseen reports whether the object is older than what was written last.
func (w *writes) unseen(o client.Object) bool {
	return w.get(client.ObjectKeyFromObject(o)).isNewerThan(o)
}

// schedulingMemory is what is remembered of a Scheduling.
type schedulingMemory struct {
	// written is its status as it was written last.
	written version
	// quietUntil is until when it is left alone, so that what its jobs come to meanwhile is
	// one write.
	quietUntil time.Time
	// state is the object that was seen to change its state at since.
	state types.UID
	since time.Time
}

// jobLocks are the jobs about which a worker of this process decides. Safe for concurrent
// use; the zero value has none.
type jobLocks struct {
	mu     sync.Mutex
	locked map[testbed.Name]bool
}

// tryLock locks all the jobs, or none if one of them is locked.
func (l *jobLocks) tryLock(jobs []testbed.Name) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if slices.ContainsFunc(jobs, func(job testbed.Name) bool { return l.locked[job] }) {
		return false
	}
	if l.locked == nil {
		l.locked = make(map[testbed.Name]bool)
	}
	for _, job := range jobs {
		l.locked[job] = true
	}
	return true
}

func (l *jobLocks) unlock(jobs []testbed.Name) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, job := range jobs {
		delete(l.locked, job)
	}
}
