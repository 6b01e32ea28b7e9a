// Package kube lists the pods of a node from the Kubernetes API: a [Source] is a
// [telemetry.PodSource] over a watch of the pods bound to the node. It needs
// neither the node's files nor a socket, but permission to list and watch pods;
// it learns of a binding some milliseconds before the node does, and of what runs
// only when the kubelet has reported it, a second later or more. Prefer
// [telemetry.CgroupPods] on nodes whose cgroups can be seen.
//
// Pods are listed, then watched from where the list ends; a watch that ends is
// taken up where it ended, with the help of bookmarks, and one whose events the
// server no longer has (410 Gone) begins with a new list. So the set of pods is
// right again after any loss. Of each pod a few words are kept, not the object.
//
// Types that do not speak of concurrent use are plain values.
package kube

import (
	"cmp"
	"context"
	"hash/maphash"
	"log/slog"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"github.com/spazio-scheduler/spazio/telemetry"
	"github.com/spazio-scheduler/spazio/telemetry/podsource/internal/follow"
)

// Config sets which node's pods to report and where to ask.
type Config struct {
	// REST is how to reach the API server, as rest.InClusterConfig or clientcmd
	// make it. It is needed and not modified. Its own limit on requests holds.
	REST *rest.Config
	// Node is the name of the node. It is needed.
	Node string
	// Logger logs, once each, an API server that is lost or back; nil means
	// slog.Default.
	Logger *slog.Logger

	// minBackoff and maxBackoff bound the pause ahead of another try, which doubles
	// from one to the next and is drawn from its upper half.
	minBackoff, maxBackoff time.Duration
}

// Defaults of Config, longer than those of a socket's: every node of a cluster
// asks the same server.
const (
	defaultMinBackoff = time.Second
	defaultMaxBackoff = 30 * time.Second
)

// validate returns a *telemetry.FieldError for the first field out of range.
func (c Config) validate() error {
	if c.REST == nil {
		return telemetry.NewFieldError("REST", c.REST, "needed")
	}
	if c.Node == "" {
		return telemetry.NewFieldError("Node", c.Node, "needed")
	}
	if reasons := validation.IsDNS1123Subdomain(c.Node); len(reasons) > 0 {
		return telemetry.NewFieldError("Node", c.Node, reasons[0])
	}
	return nil
}

// follow is the part of c that other sources have, too.
func (c Config) follow() follow.Config {
	return follow.Config{
		MinBackoff: cmp.Or(c.minBackoff, defaultMinBackoff), MaxBackoff: cmp.Or(c.maxBackoff, defaultMaxBackoff), Logger: c.Logger,
	}
}

// Source lists the pods of a node as the API server knows them, from their binding
// to their end. A pod is pending until the first of its containers other than init
// containers has started, and runs while one of any kind does; it goes by its own
// UID, except for a mirror pod, which has that of its static pod, as on the node. Churn is a
// pod that is bound or a container that changes its state. Run may be called once; Health
// is safe for concurrent use.
type Source struct {
	config follow.Config
	client *rest.RESTClient
	node   string
	health follow.Health
}

// Health returns nil while the API server answers, and before Run.
func (s *Source) Health() error { return s.health.Get() }

// New returns a source over the API server of c, which need not answer yet. The
// error is a *telemetry.FieldError; of field REST, too, for one that makes no
// client.
func New(c Config) (*Source, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	client, err := newClient(c.REST)
	if err != nil {
		return nil, telemetry.NewFieldError("REST", c.REST.Host, err.Error())
	}
	return &Source{config: c.follow().WithDefaults(), client: client, node: c.Node}, nil
}

// Run follows the API server until ctx ends; then it returns nil. Nothing is
// reported until it answered once. While it is away the last set stands.
func (s *Source) Run(ctx context.Context, notify func(telemetry.PodEvent)) error {
	f := follower{config: s.config, client: s.client, node: s.node, notify: notify, seed: maphash.MakeSeed()}
	follow.Retry(ctx, s.config, "API server", &s.health, f.session)
	utilnet.CloseIdleConnectionsFor(s.client.Client.Transport)
	return nil
}
