package agentd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/internal/flags"
	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/energy/source"
	"github.com/spazio-scheduler/spazio/field"
	"github.com/spazio-scheduler/spazio/node"
)

// energyFlags are the flags of what the machine takes in joules.
type energyFlags struct {
	flags.Energy
	idle    string
	redfish source.RedfishConfig
	pods    time.Duration
	rules   energy.Split // of idle
}

func (e *energyFlags) bind(f *pflag.FlagSet) {
	e.Bind(f, "off", "what measures the machine's energy: off, auto (the best of what is there), powercap, shared, hwmon, redfish or model",
		flags.EnergyOff, source.Auto, source.NamePowercap, source.NameShared, source.NameHwmon, source.NameRedfish, source.NameModel)
	f.StringVar(&e.idle, "energy-idle", "none", "which pods are charged the power without load: none, even or usage")
	f.DurationVar(&e.pods, "energy-pods", node.DefaultEnergyPods, "how often energy is divided among the pods, at least 1s")
	f.StringVar(&e.redfish.URL, "energy-redfish-url", "", "https URL of the Power resource of a management controller; --energy redfish needs it")
	f.StringVar(&e.redfish.TokenFile, "energy-redfish-token-file", "", "file with the token of a session there, read at each request; --energy redfish needs it")
}

// parse completes the configs.
func (e *energyFlags) parse(sysRoot string) error {
	if err := e.parseRules(); err != nil {
		return err
	}
	if e.redfish.TokenFile != "" && e.redfish.URL == "" {
		return errors.New("--energy-redfish-token-file: needs --energy-redfish-url")
	}
	if e.redfish.URL != "" {
		e.Config.Redfish = &e.redfish
	}
	return e.Parse(sysRoot)
}

// off reports whether no energy is measured.
func (e *energyFlags) off() bool { return e.Config.Source == flags.EnergyOff }

func (e *energyFlags) parseRules() error {
	e.rules = energy.Split{Idle: energy.IdlePolicy(e.idle)}
	if err := e.rules.Validate(); err != nil {
		return fmt.Errorf("--energy-idle: %w", err)
	}
	return nil
}

// open opens the source. What it begins ends with ctx.
func (e *energyFlags) open(ctx context.Context, cpu node.CPUMeter) (node.EnergyConfig, *source.Chain, error) {
	config, chain, err := node.OpenEnergy(ctx, e.Config, cpu)
	if bad := field.By(err, "source"); bad != nil && errors.Is(err, source.ErrInvalid) {
		return config, nil, flags.EnergyUsage(bad.Field, err)
	}
	if err != nil {
		return config, nil, fmt.Errorf("--energy %s: %w", e.Config.Source, err)
	}
	return config, chain, nil
}

// measureEnergy completes the agent's config by the source. The chain is to be closed.
func (o *options) measureEnergy(ctx context.Context, cpu node.CPUMeter) (*source.Chain, error) {
	config, chain, err := o.energy.open(ctx, cpu)
	if err != nil {
		return nil, err
	}
	config.Split, config.Pods = o.energy.rules, o.energy.pods
	o.node.Energy = &config
	return chain, nil
}
