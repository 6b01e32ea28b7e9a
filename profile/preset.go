package profile

import "time"

// Preset is a way to make recommendations, by the name of who devised it. It is a
// plain value, safe for concurrent reading.
type Preset struct {
	Name        string
	CPU, Memory Rule
}

// rules are those of CPU and memory.
func (p Preset) rules() [2]Rule { return [2]Rule{p.CPU, p.Memory} }

// Validate refuses a rule out of range.
func (p Preset) Validate() error {
	for _, r := range p.rules() {
		if err := r.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// Seed is the profiler of S. Galantino's thesis (§4.5, 5.3.2), which this package grew
// from: P98 of CPU, the peak of memory, of the same slot of the day, and 15 %. Its
// half-lives are the autoscaler's, as the thesis names none.
func Seed() Preset {
	return Preset{
		Name:   "seed",
		CPU:    Rule{HalfLife: 24 * time.Hour, Percentile: .98, Margin: .15, Slots: true},
		Memory: Rule{HalfLife: 48 * time.Hour, Margin: .15, Slots: true},
	}
}

// VPA is the Vertical Pod Autoscaler's target (1.7.0, pkg/recommender: logic,
// model, main.go): P90 of CPU and of the days' peaks of memory, of one-day
// half-lives, 15 %, and no less than 25 millicores and 250 MiB a pod.
func VPA() Preset {
	return Preset{
		Name:   "vpa",
		CPU:    Rule{HalfLife: 24 * time.Hour, Percentile: .9, Margin: .15, Least: .025},
		Memory: Rule{HalfLife: 24 * time.Hour, Percentile: .9, Daily: true, Margin: .15, Least: 250 << 20},
	}
}

// autopilot is the moving window recommender for services that Google published
// (Rzadca et al., EuroSys 2020, §3.2): P95 of CPU of half-life 12 hours, P98 of
// memory of 48 hours, no less than the last hour's peak, and 10 %.
func autopilot() Preset {
	return Preset{
		Name:   "autopilot",
		CPU:    Rule{HalfLife: 12 * time.Hour, Percentile: .95, Recent: time.Hour, Margin: .1},
		Memory: Rule{HalfLife: 48 * time.Hour, Percentile: .98, Recent: time.Hour, Margin: .1},
	}
}

// autopilotBatch is the same paper's for batch jobs: the mean of CPU, the largest
// sample of memory.
func autopilotBatch() Preset {
	return Preset{
		Name:   "autopilot-batch",
		CPU:    Rule{HalfLife: 12 * time.Hour, Mean: true, Margin: .1},
		Memory: Rule{HalfLife: 48 * time.Hour, Margin: .1},
	}
}

// koordlet is koordinator's peak predictor (pkg/koordlet/prediction): P95 of CPU of
// half-life 12 hours, P98 of memory of 24 hours, and 10 %.
func koordlet() Preset {
	return Preset{
		Name:   "koordlet",
		CPU:    Rule{HalfLife: 12 * time.Hour, Percentile: .95, Margin: .1},
		Memory: Rule{HalfLife: 24 * time.Hour, Percentile: .98, Margin: .1},
	}
}

// Spazio is the default: of few rules that which, on the first halves of the series
// in docs/profiles.md, took least at each peer's quality whichever series was left
// out. What is small has a margin in cores and bytes, for there a share is too
// little and costs nothing; 100 MiB are also what the autoscaler adds after a kill.
func Spazio() Preset {
	return Preset{
		Name:   "spazio",
		CPU:    Rule{HalfLife: 12 * time.Hour, Percentile: .98, Recent: time.Hour, Margin: .05, LeastMargin: .01},
		Memory: Rule{HalfLife: 24 * time.Hour, Percentile: .98, Pods: .98, Margin: .05, LeastMargin: 100 << 20},
	}
}

// Presets are all presets, the default first.
func Presets() []Preset {
	return []Preset{Spazio(), Seed(), VPA(), autopilot(), autopilotBatch(), koordlet()}
}
