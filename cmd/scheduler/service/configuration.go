package service

import (
	"fmt"
	"os"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	componentbaseconfig "k8s.io/component-base/config/v1alpha1"
	configv1 "k8s.io/kube-scheduler/config/v1"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	upstreamv1 "k8s.io/kubernetes/pkg/scheduler/apis/config/v1"
	"sigs.k8s.io/yaml"

	"github.com/spazio-scheduler/spazio/plugin"
	"github.com/spazio-scheduler/spazio/plugin/config"
)

// Client configures how a scheduler reaches the API server; zero fields have kube-scheduler's
// defaults. It is a plain value.
type Client struct {
	// Kubeconfig is a file; empty means the pod's own account.
	Kubeconfig  string
	ContentType string
	// QPS bounds the queries per second, in bursts of Burst; a negative QPS means no bound.
	QPS   float32
	Burst int32
}

// WriteConfiguration writes the configuration of a scheduler that runs beside the cluster's own,
// for kube-scheduler to read, to a temporary file, which the caller removes. It has SpazioProfile
// with these arguments, SlotsProfile, and the lease spazio-scheduler. The plugins must be in the
// scheduler's registry, and RegisterArgs must be called before it reads the file.
func WriteConfiguration(client Client, args plugin.SpazioArgs) (path string, err error) {
	profile, err := spazioProfile(args)
	if err != nil {
		return "", err
	}
	inSlots, err := slotsProfile(args, config.SpazioSlotsArgs{})
	if err != nil {
		return "", err
	}
	return write(configuration(client, true, profile, inSlots))
}

// configuration returns a scheduler's configuration with the given profiles.
func configuration(client Client, leaderElect bool, profiles ...configv1.KubeSchedulerProfile) *configv1.KubeSchedulerConfiguration {
	c := &configv1.KubeSchedulerConfiguration{
		Profiles: profiles,
		ClientConnection: componentbaseconfig.ClientConnectionConfiguration{
			Kubeconfig: client.Kubeconfig, ContentType: client.ContentType, QPS: client.QPS, Burst: client.Burst,
		},
		LeaderElection: componentbaseconfig.LeaderElectionConfiguration{
			LeaderElect: &leaderElect,
			// The cluster's own scheduler has the lease kube-scheduler.
			ResourceName: "spazio-scheduler",
		},
	}
	c.APIVersion = configv1.SchemeGroupVersion.String()
	c.Kind = "KubeSchedulerConfiguration"
	return c
}

// RegisterArgs makes every scheduler of the process decode the plugins' arguments with the
// rest of its configuration: it then refuses a wrong file before anything has started. New
// calls it; more than once is no error. It is safe for concurrent use.
func RegisterArgs() error { return registerArgs() }

// One of upstream's schemes reads the file, the other converts the arguments.
var registerArgs = sync.OnceValue(func() error {
	for _, s := range []*runtime.Scheme{scheme.Scheme, upstreamv1.GetPluginArgConversionScheme()} {
		if err := config.AddToScheme(s); err != nil {
			return fmt.Errorf("register the plugin's arguments: %w", err)
		}
	}
	return nil
})

// write writes to a temporary file, because upstream reads its configuration only from a file.
func write(c *configv1.KubeSchedulerConfiguration) (path string, err error) {
	text, err := yaml.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("encode the scheduler's configuration: %w", err)
	}
	file, err := os.CreateTemp("", "spazio-scheduler-*.yaml")
	if err != nil {
		return "", fmt.Errorf("write the scheduler's configuration: %w", err)
	}
	_, err = file.Write(text)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		os.Remove(file.Name())
		return "", fmt.Errorf("write the scheduler's configuration: %w", err)
	}
	return file.Name(), nil
}
