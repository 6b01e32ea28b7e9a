package profile

import (
	"cmp"
	"math"
	"time"
)

// Config sets how a Profile learns. The zero value is the documented default, field
// by field. It is a plain value, safe for concurrent reading.
type Config struct {
	// CPUHalfLife and MemoryHalfLife are those of the histograms that
	// recommendations are made of; 0 means the default preset's, 12 and 24 hours.
	// Another preset is what was evaluated under its own only: see For.
	CPUHalfLife, MemoryHalfLife time.Duration
	// PodHalfLife is that of the evidence over pods; 0 means 7 days.
	PodHalfLife time.Duration
	// Slots of a day, in Zone; 0 means 4, 1 means none, nil UTC.
	Slots int
	Zone  *time.Location
	// SlotPods and SlotDays are what a slot has to have seen before it counts for
	// itself; until then it borrows from the whole day. 0 means 8 pods and 2 days.
	SlotPods, SlotDays int
	// Credibility is K, the pods that a workload's prior counts as; 0 means 1.
	Credibility float64
	// RevisionPods is how many pods the evidence of the revision before counts as,
	// at most, for a new one; 0 means 2.
	RevisionPods float64
}

func (c Config) withDefaults() Config {
	c = c.For(Spazio())
	c.PodHalfLife = cmp.Or(c.PodHalfLife, podHalfLife)
	c.Slots = cmp.Or(c.Slots, defaultSlots)
	c.SlotPods = cmp.Or(c.SlotPods, 8)
	c.SlotDays = cmp.Or(c.SlotDays, slotDays)
	c.Credibility = cmp.Or(c.Credibility, defaultCredibility)
	c.RevisionPods = cmp.Or(c.RevisionPods, 2)
	c.Zone = cmp.Or(c.Zone, time.UTC)
	return c
}

// For is the configuration with the half-lives that a preset's rules are meant for,
// where it says nothing of them.
func (c Config) For(p Preset) Config {
	c.CPUHalfLife = cmp.Or(c.CPUHalfLife, p.CPU.HalfLife)
	c.MemoryHalfLife = cmp.Or(c.MemoryHalfLife, p.Memory.HalfLife)
	return c
}

// Validate refuses what is out of range.
func (c Config) Validate() error {
	c = c.withDefaults()
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"Config.CPUHalfLife", c.CPUHalfLife}, {"Config.MemoryHalfLife", c.MemoryHalfLife}, {"Config.PodHalfLife", c.PodHalfLife}} {
		if d.value < time.Second {
			return refuse(d.field, d.value, "at least 1s, or 0 for the default")
		}
	}
	switch {
	case c.Slots < 1 || c.Slots > maxSlots:
		return refuse("Config.Slots", c.Slots, "from 1 to 24, or 0 for the default")
	case c.SlotPods < 1:
		return refuse("Config.SlotPods", c.SlotPods, "above 0, or 0 for the default")
	case c.SlotDays < 1:
		return refuse("Config.SlotDays", c.SlotDays, "above 0, or 0 for the default")
	case !(c.Credibility > 0) || math.IsInf(c.Credibility, 1):
		return refuse("Config.Credibility", c.Credibility, "above 0 and finite, or 0 for the default")
	case !(c.RevisionPods > 0) || math.IsInf(c.RevisionPods, 1):
		return refuse("Config.RevisionPods", c.RevisionPods, "above 0 and finite, or 0 for the default")
	}
	return nil
}

// floors are the deviations, in cores and bytes, below which nothing contradicts: measurements
// are no finer.
var floors = [resources]float64{.01, 1e7}

func (c *Config) history(r int) HistoryConfig {
	if r == 0 {
		return HistoryConfig{Scale: CPU, HalfLife: c.CPUHalfLife, Slots: c.Slots, Zone: c.Zone}
	}
	return HistoryConfig{Scale: Memory, HalfLife: c.MemoryHalfLife, Slots: c.Slots, Zone: c.Zone}
}
