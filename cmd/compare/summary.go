package compare

import (
	"fmt"
)

// settings are the configuration for a reader.
func (c Config) settings(nodes string) [][2]string {
	phases, err := c.Phases.MarshalText()
	if err != nil {
		phases = []byte(err.Error())
	}
	kills := "none"
	if c.Kill > 0 {
		kills = fmt.Sprintf("%d every %v, the same for each scheduler", c.Kill, c.KillEvery)
	}
	return [][2]string{
		{"runs of each", fmt.Sprint(c.Runs)},
		{"measured", fmt.Sprintf("%v, after %v of warm-up", c.Duration, c.WarmUp)},
		{"load", fmt.Sprintf("%g requests a second, %s, %d connections a replica of the front", c.Rate, phases, connections)},
		{"pods", fmt.Sprintf("9 tiers × %d", c.Replicas)},
		{"kills", kills},
		{"nodes", nodes},
		{"seed", fmt.Sprint(c.Seed)},
	}
}

// enough returns an error if a scheduler has no run that counts.
func enough(r Report) error {
	for _, s := range r.Schedulers {
		counted, void := 0, ""
		for _, run := range r.Runs {
			if run.Scheduler != s {
				continue
			}
			if run.Void == "" {
				counted++
			} else {
				void = run.Void
			}
		}
		if counted == 0 {
			return fmt.Errorf("%w: none of %s counts: %s", ErrVoid, s, void)
		}
	}
	return nil
}
