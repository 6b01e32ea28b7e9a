package api

import (
	"fmt"

	spaziov1 "github.com/spazio-scheduler/spazio/api/spazio/v1"
	"github.com/spazio-scheduler/spazio/energy"
)

// fromPower converts a power for the wire, nil where it is not known.
func fromPower(p energy.Power) *spaziov1.Power {
	if !p.Known() {
		return nil
	}
	return &spaziov1.Power{
		Watts: p.Watts, WattsSd: p.SD, MaxWatts: p.Max, IdleWatts: p.Idle, MarginalWatts: p.Marginal,
		BusyCores: p.Busy, Cores: p.Cores, JoulesTotal: p.Joules, Quality: spaziov1.Quality(p.Quality), Flags: uint32(p.Flags),
	}
}

// toPower converts a power that was checked. One of a quality that is not known says
// nothing.
func toPower(m *spaziov1.Power) energy.Power {
	q := m.GetQuality()
	p := energy.Power{
		Watts: m.GetWatts(), SD: m.GetWattsSd(), Max: m.GetMaxWatts(), Idle: m.GetIdleWatts(), Marginal: m.GetMarginalWatts(),
		Busy: m.GetBusyCores(), Cores: m.GetCores(), Joules: m.GetJoulesTotal(),
		Quality: energy.Quality(q), Flags: energy.Flags(m.GetFlags()),
	}
	if spaziov1.Quality(p.Quality) != q || !p.Known() { // the number may be beyond a byte
		return energy.Power{}
	}
	return p
}

func checkPower(m *spaziov1.Power) error {
	return checkRanges([]ranged{
		{"watts", m.GetWatts(), 0, energy.MaxWatts},
		{"watts_sd", m.GetWattsSd(), 0, energy.MaxWatts},
		{"max_watts", m.GetMaxWatts(), 0, energy.MaxWatts},
		{"idle_watts", m.GetIdleWatts(), 0, energy.MaxWatts},
		{"marginal_watts", m.GetMarginalWatts(), 0, energy.MaxWatts},
		{"busy_cores", m.GetBusyCores(), 0, energy.MaxCores},
		{"cores", m.GetCores(), 0, energy.MaxCores},
		{"joules_total", m.GetJoulesTotal(), 0, energy.MaxJoules},
	})
}

// checkAbsorbed checks what the pods of a report took: none, or one for each.
func checkAbsorbed(m *spaziov1.Report) error {
	absorbed, cores, watts := len(m.GetAbsorbed()), m.GetAbsorbedCores(), m.GetAbsorbedWatts()
	if len(cores) != 0 && len(cores) != absorbed {
		return refuse("absorbed_cores", len(cores), fmt.Errorf("%w: there are %d absorbed", ErrLength, absorbed))
	}
	if len(watts) != len(cores) {
		return refuse("absorbed_watts", len(watts), fmt.Errorf("%w: there are %d absorbed_cores", ErrLength, len(cores)))
	}
	for i := range cores {
		if !(cores[i] >= 0 && cores[i] <= energy.MaxCores) {
			return checkRange(fmt.Sprintf("absorbed_cores[%d]", i), float64(cores[i]), 0, energy.MaxCores)
		}
		if !(watts[i] >= 0 && watts[i] <= energy.MaxWatts) {
			return checkRange(fmt.Sprintf("absorbed_watts[%d]", i), float64(watts[i]), 0, energy.MaxWatts)
		}
	}
	return nil
}

// nonEmpty returns a copy of a list, nil of an empty one.
func nonEmpty(list []float32) []float32 { return append([]float32(nil), list...) }
