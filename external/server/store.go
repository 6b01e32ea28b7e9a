package server

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/external/wire"
)

// Caller is the user of a request, as in a Kubernetes API server's UserInfo (authentication.k8s.io).
type Caller struct {
	Name   string
	UID    string
	Groups []string
	Extra  map[string][]string
	// Expires is when the token ends; zero is not known.
	Expires time.Time
}

// anonymousName begins the name of a caller that is not authenticated yet: the address follows.
const anonymousName = "\x00"

func (c Caller) anonymous() bool { return strings.HasPrefix(c.Name, anonymousName) }

// Verb is what a caller wants to do.
type Verb string

// Verbs, as Kubernetes has them.
const (
	Get    Verb = "get"
	List   Verb = "list"
	Watch  Verb = "watch"
	Create Verb = "create"
	Update Verb = "update"
	Patch  Verb = "patch"
	Delete Verb = "delete"
)

// Access is what a caller asks for: a verb on objects of a kind in a namespace; empty is
// all namespaces. Slots go by the right to their Testbed.
type Access struct {
	Verb      Verb
	Kind      wire.Kind
	Namespace string
	Name      string
	// External is set for access to a job's External only, which is a right of its own.
	External bool
}

// Authenticator returns whose token it is. It is safe for concurrent use. A refused token is a
// *wire.Problem of status 401, one that cannot be checked now of 503.
type Authenticator interface {
	Authenticate(ctx context.Context, token string) (Caller, error)
}

// Authorizer refuses what a caller may not do. It is safe for concurrent use. The error is a
// *wire.Problem of status 403 that names verb, kind and namespace.
type Authorizer interface {
	Authorize(ctx context.Context, caller Caller, access Access) error
}

// Change is a change of an object.
type Change struct {
	// Type is wire.Added, wire.Modified or wire.Deleted; a Deleted one has the object as
	// it was last.
	Type string
	// Object is a Testbed without its slots, all of a Testbed's slots, a Job or a Scheduling.
	// It is not to be modified.
	Object wire.Resource
}

// Store holds the objects. Its methods are safe for concurrent use. Errors are *wire.Problem (404
// for an object that does not exist); others are faults of the server, whose text callers do not
// get. The caller's rights have been checked before. What it returns may be shared and must not be
// modified. An object of the same resourceVersion is the same object; wire.CompareVersions orders
// versions.
type Store interface {
	// Synced returns a *wire.Problem of status 503 until everything has been read once.
	Synced() error

	// Testbeds, Jobs and Schedulings return those of a namespace, or of all if it is empty,
	// by namespace and name.
	Testbeds(ctx context.Context, namespace string) ([]wire.Testbed, error)
	Jobs(ctx context.Context, namespace string) ([]wire.Job, error)
	Schedulings(ctx context.Context, namespace string) ([]wire.Scheduling, error)

	Testbed(ctx context.Context, namespace, name string) (wire.Testbed, error)
	// Slots are a Testbed's, in the order of their index.
	Slots(ctx context.Context, namespace, name string) (wire.TestbedSlots, error)
	Job(ctx context.Context, namespace, name string) (wire.Job, error)
	Scheduling(ctx context.Context, namespace, name string) (wire.Scheduling, error)

	// CreateScheduling and ReplaceScheduling return the object as it is then. Author of
	// what is created is the caller's name. Specs are Normal and have passed Validate.
	// Field paths of causes are those of wire. If the name is taken, CreateScheduling
	// returns what is there, read anew, beside a *wire.Problem of status 409.
	// ReplaceScheduling writes only at the version, if that is not empty: else 412.
	CreateScheduling(ctx context.Context, caller Caller, namespace, name string, spec wire.SchedulingSpec) (wire.Scheduling, error)
	ReplaceScheduling(ctx context.Context, caller Caller, namespace, name string, version string, spec wire.SchedulingSpec) (wire.Scheduling, error)
	DeleteScheduling(ctx context.Context, caller Caller, namespace, name string, version string) error
	// Plan returns what a scheduling would lead to if it were created now.
	Plan(ctx context.Context, caller Caller, namespace, name string, spec wire.SchedulingSpec) (wire.Plan, error)

	// SetExternal writes what outside programs keep in a job, a JSON object, only at the
	// version, if that is not empty: else 412. UpdateExternal writes what edit makes of
	// what is there, again if somebody else wrote meanwhile.
	SetExternal(ctx context.Context, caller Caller, namespace, name string, version string, data json.RawMessage) (wire.Job, error)
	UpdateExternal(ctx context.Context, caller Caller, namespace, name string, version string, edit func(json.RawMessage) (json.RawMessage, error)) (wire.Job, error)

	// Follow calls changed for every object there is, as Added, and then for each change, one
	// at a time, until ctx ends; it returns when changed will not be called again. synced is
	// called between the two. Changes of one object come in the order of their versions.
	Follow(ctx context.Context, changed func(Change), synced func()) error
}
