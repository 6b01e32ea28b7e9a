package certs

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	plan "github.com/spazio-scheduler/spazio/api/certs"
)

// Config says what Ensure looks after.
type Config struct {
	// Namespace is that of the servers, the Secrets and one ConfigMap;
	// AgentNamespace has the other ConfigMap, unless it is empty or the same.
	Namespace, AgentNamespace string
	// ClusterDomain is what the names of services end with.
	ClusterDomain string
	// Servers and Peers are those with a Secret, each NAME[,SERVICE]...; a peer is
	// also a client of its like.
	Servers, Peers []string
	// DryRun changes nothing.
	DryRun bool
}

// wanted are the certificates, by the names of the servers.
func (c Config) wanted() map[string]plan.Leaf {
	leaves := map[string]plan.Leaf{}
	add := func(server string, client bool) {
		services := strings.Split(server, ",")
		leaf := plan.Leaf{Client: client}
		for _, service := range services {
			leaf.Names = append(leaf.Names, plan.ServiceNames(service, c.Namespace, c.ClusterDomain)...)
		}
		leaves[services[0]] = leaf
	}
	for _, s := range c.Servers {
		add(s, false)
	}
	for _, p := range c.Peers {
		add(p, true)
	}
	return leaves
}

// places are the namespaces with a bundle.
func (c Config) places() []string {
	if c.AgentNamespace == "" || c.AgentNamespace == c.Namespace {
		return []string{c.Namespace}
	}
	return []string{c.Namespace, c.AgentNamespace}
}

// mostRounds bounds how often what is stored is looked at again: after a change,
// and because somebody else was quicker.
const mostRounds = 5

// Ensure stores what is to be changed now, and returns it, also with an error:
// what was stored until then. An error that wraps api/certs.ErrInvalid is the
// config's.
func Ensure(ctx context.Context, client corev1client.CoreV1Interface, c Config, now func() time.Time, logger *slog.Logger) (made []plan.Change, err error) {
	wanted := c.wanted()
	if err := plan.Validate(wanted); err != nil {
		return nil, err
	}
	for range mostRounds {
		s, err := load(ctx, client, c, wanted)
		if err != nil {
			return made, err
		}
		planned, changes, err := plan.Plan(wanted, s.state(c), now())
		if err != nil || len(changes) == 0 {
			return made, err
		}
		if c.DryRun {
			return changes, nil
		}
		for _, change := range changes {
			if err = s.store(ctx, client, change, planned); err != nil {
				break
			}
			made = append(made, change)
			logger.Info("stored", "kind", change.Kind, "name", change.Name, "reason", change.Reason)
		}
		if err != nil && !apierrors.IsConflict(err) {
			return made, err
		}
	}
	return made, fmt.Errorf("others change the certificates at the same time: not done after %d rounds", mostRounds)
}
