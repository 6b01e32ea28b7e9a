// Package agentkube is the command spazio-agent-kube: spazio-agent with the API server's
// watch as a further pod source.
package agentkube

import (
	"log/slog"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/spazio-scheduler/spazio/cmd/internal/agentd"
	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/telemetry"
	"github.com/spazio-scheduler/spazio/telemetry/podsource/kube"
)

// Main runs the command until it fails or ctx ends, and returns its exit code.
var Main = command.Program(NewCommand)

// NewCommand returns the command with its flags at their defaults.
func NewCommand() *cobra.Command {
	c := agentd.NewCommand(&source{})
	c.Use = "spazio-agent-kube"
	return c
}

// source is the API server as a pod source.
type source struct{ kubeconfig string }

func (*source) Name() string { return "kube" }

func (s *source) Flags(f *pflag.FlagSet) {
	f.StringVar(&s.kubeconfig, "kubeconfig", "", "how --pod-source kube reaches the API server (default as a pod does)")
}

func (s *source) New(node string, logger *slog.Logger) (telemetry.PodSource, error) {
	config, err := s.config()
	if err != nil {
		return nil, err
	}
	return kube.New(kube.Config{REST: config, Node: node, Logger: logger})
}

func (s *source) config() (*rest.Config, error) {
	if s.kubeconfig != "" {
		return clientcmd.BuildConfigFromFlags("", s.kubeconfig)
	}
	return rest.InClusterConfig()
}
