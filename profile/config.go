package profile

import (
	"cmp"
	"time"
)

// Config sets how a Profile learns. The zero value is the documented default, field
// by field. It is a plain value, safe for concurrent reading.
type Config struct {
	// Slots of a day, in Zone; 0 means 4, 1 means none, nil UTC.
	Slots int
	Zone  *time.Location
	// cpuHalfLife and memoryHalfLife are those of the histograms that recommendations are
	// made of: a preset's, since each was evaluated under its own only (see For).
	cpuHalfLife, memoryHalfLife time.Duration
	// podHalfLife is that of the evidence over pods.
	podHalfLife time.Duration
	// slotPods and slotDays are what a slot has to have seen before it counts for
	// itself; until then it borrows from the whole day.
	slotPods, slotDays int
}

// revisionPods is how many pods the evidence of the revision before counts as, at most, for a
// new one.
const revisionPods = 2

func (c Config) withDefaults() Config {
	c = c.For(Spazio())
	c.podHalfLife = cmp.Or(c.podHalfLife, podHalfLife)
	c.Slots = cmp.Or(c.Slots, defaultSlots)
	c.slotPods = cmp.Or(c.slotPods, 8)
	c.slotDays = cmp.Or(c.slotDays, slotDays)
	c.Zone = cmp.Or(c.Zone, time.UTC)
	return c
}

// For returns the configuration with the half-lives that a preset's rules are meant for, unless it
// has another preset's.
func (c Config) For(p Preset) Config {
	c.cpuHalfLife = cmp.Or(c.cpuHalfLife, p.CPU.HalfLife)
	c.memoryHalfLife = cmp.Or(c.memoryHalfLife, p.Memory.HalfLife)
	return c
}

// Validate refuses what is out of range.
func (c Config) Validate() error {
	c = c.withDefaults()
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"Config.cpuHalfLife", c.cpuHalfLife}, {"Config.memoryHalfLife", c.memoryHalfLife}, {"Config.podHalfLife", c.podHalfLife}} {
		if d.value < time.Second {
			return refuse(d.field, d.value, "at least 1s, or 0 for the default")
		}
	}
	if c.Slots < 1 || c.Slots > maxSlots {
		return refuse("Config.Slots", c.Slots, "from 1 to 24, or 0 for the default")
	}
	return nil
}

// floors are the deviations, in cores and bytes, below which nothing contradicts: measurements
// are no finer.
var floors = [resources]float64{.01, 1e7}

func (c *Config) history(r int) HistoryConfig {
	if r == 0 {
		return HistoryConfig{Scale: CPU, HalfLife: c.cpuHalfLife, Slots: c.Slots, Zone: c.Zone}
	}
	return HistoryConfig{Scale: Memory, HalfLife: c.memoryHalfLife, Slots: c.Slots, Zone: c.Zone}
}
