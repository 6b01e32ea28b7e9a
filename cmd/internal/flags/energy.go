package flags

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"github.com/spazio-scheduler/spazio/cmd/internal/command"
	"github.com/spazio-scheduler/spazio/energy/source"
)

// Energy holds the flags of a source.Config.
type Energy struct {
	// Config is complete after Parse.
	Config source.Config
	zones  string
	model  map[string]string
	flags  *pflag.FlagSet
	names  []string // what --energy takes
}

// EnergyOff is the --energy that measures none, where a command takes it.
const EnergyOff = "off"

// Bind adds the flags; source is the default of --energy, usage explains it and names are
// what it takes.
func (e *Energy) Bind(f *pflag.FlagSet, source, usage string, names ...string) {
	e.flags, e.names = f, names
	f.StringVar(&e.Config.Source, "energy", source, usage)
	f.StringVar(&e.Config.SharedRoot, "energy-shared", "/var/lib/spazio/power", "where a host publishes this guest's part of its energy")
	f.StringToStringVar(&e.model, "energy-model", nil, "power of the machine without load and at full in watts, as idle=40,max=120, for --energy model")
	f.StringVar(&e.zones, "energy-zones", e.Config.Powercap.Zones.String(), "the zones of powercap whose sum is the machine's: package,dram or psys")
}

// uses are the flags that not each source reads, with the one that does.
var uses = map[string]string{
	"energy-shared": source.NameShared, "energy-model": source.NameModel, "energy-zones": source.NamePowercap,
	"energy-redfish-url": source.NameRedfish, "energy-redfish-token-file": source.NameRedfish,
}

// check refuses another --energy than the command takes, and with EnergyOff the flags that say how
// energy is measured. Those that another source reads are logged.
func (e *Energy) check() (err error) {
	name := e.Config.Source
	if !slices.Contains(e.names, name) {
		return fmt.Errorf("--energy: Source = %s: must be one of %s", name, strings.Join(e.names, ", "))
	}
	e.flags.Visit(func(f *pflag.Flag) {
		switch reader, one := uses[f.Name]; {
		case !strings.HasPrefix(f.Name, "energy-"):
		case name == EnergyOff && err == nil:
			err = fmt.Errorf("--%s: needs --energy, which is %s", f.Name, EnergyOff)
		case one && name != source.Auto && name != reader && e.Config.Logger != nil:
			e.Config.Logger.Warn("a flag is not used", "flag", "--"+f.Name, "energy", name, "used by", reader)
		}
	})
	return err
}

// Parse completes Config.
func (e *Energy) Parse(sysRoot string) error {
	c := &e.Config
	if err := c.Powercap.Zones.UnmarshalText([]byte(e.zones)); err != nil {
		return fmt.Errorf("--energy-zones: %w", err)
	}
	c.Powercap.Root, c.HwmonRoot = filepath.Join(sysRoot, "class", "powercap"), filepath.Join(sysRoot, "class", "hwmon")
	if len(e.model) > 0 {
		c.Model = &source.ModelConfig{}
	}
	for name, text := range e.model {
		watts, err := strconv.ParseFloat(text, 64)
		field := map[string]*float64{"idle": &c.Model.Idle, "max": &c.Model.Max}[name]
		if err != nil || field == nil {
			return fmt.Errorf("--energy-model: %s=%s is not idle=WATTS or max=WATTS", name, text)
		}
		*field = watts
	}
	return e.check()
}

// fields are the flags of the fields that packages refuse.
var fields = map[string]string{
	"Source": "energy", "Model": "energy-model", "Max": "energy-model", "Idle": "energy-model", "Powercap.Zones": "energy-zones", "Zones": "energy-zones",
	"Redfish": "energy-redfish-url", "URL": "energy-redfish-url", "Energy.Pods": "energy-pods",
}

// examples are values of the flags of fields that are refused only if they are missing.
var examples = map[string]string{"Model": "idle=40,max=120", "Redfish": "https://bmc/redfish/v1/Chassis/1/Power"}

// EnergyUsage marks an error as the caller's and names the flag of a field.
func EnergyUsage(field string, err error) error {
	if flag, example := fields[field], examples[field]; example != "" {
		err = fmt.Errorf("--%s: must be given, such as --%s %s", flag, flag, example)
	} else if flag != "" {
		err = fmt.Errorf("--%s: %w", flag, err)
	}
	return command.Usage(err)
}
