package source

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
)

// Names of the sources, in the order in which a Chain prefers them, and Auto for all of
// them that are configured.
const (
	Auto         = "auto"
	NamePowercap = "powercap"
	NameShared   = "shared"
	NameHwmon    = "hwmon"
	NameRedfish  = "redfish"
	NameModel    = "model"
)

var sourceNames = []string{NamePowercap, NameShared, NameHwmon, NameRedfish, NameModel}

// Config describes which sources there are. The zero value tries what this machine shows.
type Config struct {
	// Source is the name of the only one to read, or Auto, which is the default.
	Source string
	// Powercap, SharedRoot and HwmonRoot are where these read; zero values are the usual
	// places.
	Powercap              PowercapConfig
	SharedRoot, HwmonRoot string
	// Redfish and Model are read only where they are given.
	Redfish *RedfishConfig
	Model   *ModelConfig
	// Logger has why a source that answers is passed over; nil logs nothing.
	Logger *slog.Logger
}

// validate returns a *field.Error for the first field that is out of range.
func (c Config) validate() error {
	name := c.name()
	if name != Auto && !slices.Contains(sourceNames, name) {
		return invalid("Source", c.Source, "auto, "+strings.Join(sourceNames, ", "))
	}
	if int(c.Powercap.Zones) >= len(zonesNames) {
		return invalid("Powercap.Zones", uint8(c.Powercap.Zones), "PackageDRAM or Psys")
	}
	if name == NameRedfish && c.Redfish == nil {
		return invalid("Redfish", nil, "given for that source")
	}
	if name == NameModel && c.Model == nil {
		return invalid("Model", nil, "given for that source")
	}
	if c.Redfish != nil {
		if err := c.Redfish.validate(); err != nil {
			return err
		}
	}
	if c.Model != nil {
		return c.Model.validate()
	}
	return nil
}

func (c Config) name() string { return cmp.Or(c.Source, Auto) }

// Open returns the chain of the sources of c. What it begins ends with ctx or Close. A
// source that was asked for by name has to be there, else the error has the reason why it isn't;
// with Auto any may come later.
func Open(ctx context.Context, c Config) (*Chain, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	all := map[string]func() (Source, error){
		NamePowercap: func() (Source, error) { return opened(NewPowercap(c.Powercap)) },
		NameShared:   func() (Source, error) { return opened(newShared(c.SharedRoot)) },
		NameHwmon:    func() (Source, error) { return opened(newHwmon(c.HwmonRoot)) },
	}
	if c.Redfish != nil {
		all[NameRedfish] = func() (Source, error) { return opened(newRedfish(ctx, *c.Redfish)) }
	}
	if c.Model != nil {
		all[NameModel] = func() (Source, error) { return opened(newModel(*c.Model)) }
	}
	var openers []Opener
	for _, name := range sourceNames {
		if open, ok := all[name]; ok && (c.name() == Auto || c.name() == name) {
			openers = append(openers, Opener{name, open})
		}
	}
	chain := NewChain(openers...)
	if c.Logger != nil {
		chain.logger = c.Logger
	}
	if c.name() == Auto {
		return chain, nil
	}
	s, err := openers[0].Open()
	if err != nil {
		return nil, err
	}
	chain.links[0].source = s
	return chain, nil
}

// opened makes a Source of what a constructor returned, and of an error nil, not a nil
// pointer.
func opened[S Source](s S, err error) (Source, error) {
	if err != nil {
		return nil, err
	}
	return s, nil
}
