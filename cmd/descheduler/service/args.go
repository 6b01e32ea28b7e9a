package service

import (
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/descheduler/pkg/api"

	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/relief"
)

// ReliefPlugin is the plugin's name in a DeschedulerPolicy.
const ReliefPlugin = "SpazioRelief"

// reliefArgs are the plugin's arguments in a DeschedulerPolicy. A field that is not set has the default
// of relief.DefaultOptions, where the fields are described.
type reliefArgs struct {
	metav1.TypeMeta `json:",inline"`

	Tolerance   *float64         `json:"tolerance,omitempty"`
	Sustained   *metav1.Duration `json:"sustained,omitempty"`
	MinAge      *metav1.Duration `json:"minAge,omitempty"`
	Interval    *metav1.Duration `json:"interval,omitempty"`
	MaxPerCycle *int             `json:"maxPerCycle,omitempty"`
}

// DeepCopyObject implements runtime.Object.
func (a *reliefArgs) DeepCopyObject() runtime.Object {
	return &reliefArgs{
		TypeMeta: a.TypeMeta, Tolerance: copied(a.Tolerance), Sustained: copied(a.Sustained), MinAge: copied(a.MinAge),
		Interval: copied(a.Interval), MaxPerCycle: copied(a.MaxPerCycle),
	}
}

func copied[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

// options returns the planner's options; the error is a *field.Error of package relief.
func (a *reliefArgs) options() (relief.Options, error) {
	o := relief.DefaultOptions()
	if a.Tolerance != nil {
		o.Tolerance = *a.Tolerance
	}
	if a.Sustained != nil {
		o.Sustained = a.Sustained.Duration
	}
	if a.MinAge != nil {
		o.MinAge = a.MinAge.Duration
	}
	if a.Interval != nil {
		o.Interval = a.Interval.Duration
	}
	if a.MaxPerCycle != nil {
		o.MaxPerCycle = *a.MaxPerCycle
	}
	return o, o.Validate()
}

// validate is the plugin's in the descheduler's registry.
func validate(object runtime.Object) error {
	args, ok := object.(*reliefArgs)
	if !ok {
		return fmt.Errorf("arguments of %s: %T", ReliefPlugin, object)
	}
	_, err := args.options()
	return err
}

// validatePolicy returns a *field.Error if more than one profile enables the plugin, which would each
// evict without knowing of the other's reservations.
func validatePolicy(policy *api.DeschedulerPolicy) error {
	enabled := 0
	for i, profile := range policy.Profiles {
		for _, name := range profile.Plugins.Balance.Enabled {
			if name != ReliefPlugin {
				continue
			}
			if enabled++; enabled > 1 {
				return &field.Error{
					Package: "descheduler", Field: fmt.Sprintf("profiles[%d].plugins.balance.enabled", i), Value: name,
					Err: fmt.Errorf("%w: must be enabled once", ErrInvalid),
				}
			}
		}
	}
	return nil
}

// defaultPolicy also protects pods with a persistent volume, which may tie them to their node.
const defaultPolicy = `apiVersion: descheduler/v1alpha2
kind: DeschedulerPolicy
profiles:
- name: spazio
  plugins:
    balance:
      enabled: [` + ReliefPlugin + `]
  pluginConfig:
  - name: DefaultEvictor
    args:
      podProtections:
        extraEnabled: [PodsWithPVC]
  - name: ` + ReliefPlugin + `
    args: {}
`

// writePolicy writes the default policy to a temporary file, because the descheduler reads it only
// from a file. The caller removes it.
func writePolicy() (path string, err error) {
	file, err := os.CreateTemp("", "spazio-descheduler-*.yaml")
	if err != nil {
		return "", fmt.Errorf("write the descheduler's policy: %w", err)
	}
	_, err = file.WriteString(defaultPolicy)
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		os.Remove(file.Name())
		return "", fmt.Errorf("write the descheduler's policy: %w", err)
	}
	return file.Name(), nil
}
