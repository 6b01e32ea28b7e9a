package authority

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/spazio-scheduler/spazio/field"
)

// Config is what Ensure maintains.
type Config struct {
	// Namespace has the servers, the Secrets and one ConfigMap;
	// AgentNamespace has the other ConfigMap, unless it is empty or the same.
	Namespace, AgentNamespace string
	// ClusterDomain is what the names of services end with, such as cluster.local.
	ClusterDomain string
	// Servers are the servers that get a certificate.
	Servers []Server
	// DryRun changes nothing: Ensure returns what it would change first.
	DryRun bool
	// Now is the clock; nil is time.Now.
	Now func() time.Time
	// Logger gets each object that was stored; nil logs nothing.
	Logger *slog.Logger
}

// Server is one with a certificate.
type Server struct {
	// Name is its service's name; its Secret is NAME-tls.
	Name string
	// Services are others that it is reached by.
	Services []string
	// Client is set if it shows the certificate also as a client.
	Client bool
}

var errTwice = fmt.Errorf("%w: named twice", ErrInvalid)

// validate returns a *field.Error, which wraps ErrInvalid, for the first
// server that is named twice or has an invalid name.
func (c Config) validate() error {
	seen := map[string]bool{}
	for _, s := range c.Servers {
		if seen[s.Name] {
			return &field.Error{Package: "certs", Field: "Servers", Value: s.Name, Err: errTwice}
		}
		seen[s.Name] = true
	}
	return validateLeaves(c.leaves())
}

// leaves are the certificates, by the names of the servers.
func (c Config) leaves() map[string]wantedLeaf {
	leaves := map[string]wantedLeaf{}
	for _, s := range c.Servers {
		l := wantedLeaf{Client: s.Client, Names: serviceNames(s.Name, c.Namespace, c.ClusterDomain)}
		for _, service := range s.Services {
			l.Names = append(l.Names, serviceNames(service, c.Namespace, c.ClusterDomain)...)
		}
		leaves[s.Name] = l
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

func (c Config) withDefaults() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}
