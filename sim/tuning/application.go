package tuning

import (
	"math"
	"math/rand/v2"
)

// service is one of an application.
type service struct {
	name string
	// calls is how many a visit makes of it, work the mean core-seconds of each.
	calls, work float64
	// limit is the developers', in cores.
	limit float64
}

// boutique is Google's Online Boutique (github.com/GoogleCloudPlatform/
// microservices-demo) with the limits of its manifests, which are table 6.3's without
// its cache and its load generator. Calls are the mean of that generator's mix of
// visits; the work is of this package's making, as nothing is published.
func boutique() []service {
	return []service{
		{"ad", .7, .0025, .3},
		{"cart", 1.2, .002, .3},
		{"checkout", .05, .005, .2},
		{"currency", 3, .0006, .2},
		{"email", .05, .003, .2},
		{"frontend", 1, .006, .2},
		{"payment", .05, .001, .2},
		{"productcatalog", 3.5, .001, .2},
		{"recommendation", .8, .004, .2},
		{"shipping", .25, .001, .2},
	}
}

// Scenario is which limits the services begin with: the columns of table 6.1.
type Scenario string

// The scenarios, in the table's order.
const (
	unlimited  Scenario = "unlimited" // none
	developers Scenario = "default"
	cut        Scenario = "cut"      // the developers' less a third
	cutSome    Scenario = "cut-some" // less a third where that seems enough
)

// Scenarios are all, in the table's order.
func Scenarios() []Scenario { return []Scenario{unlimited, developers, cut, cutSome} }

// enough is the share of its limit below which a service's mean use seems small.
const enough = .25

// limit is what a service begins with, at so many visits a second.
func (s Scenario) limit(of service, visits, cores float64) float64 {
	use := visits * of.calls * of.work
	switch {
	case s == unlimited:
		return cores
	case s == cut, s == cutSome && use < enough*of.limit:
		return of.limit * 2 / 3
	}
	return of.limit
}

// Visits a second are drawn between these; the work of a call is log-normal around its
// mean, the number of calls within a fifth of theirs.
const (
	fewest, busiest = 10, 30
	workSpread      = .3
	callSpread      = .2
)

// draw makes an application of a seed and returns how many visits a second it has.
func draw(seed uint64) (services []service, visits float64) {
	rng := rand.New(rand.NewPCG(seed, 0x7ab1e61))
	visits = fewest + (busiest-fewest)*rng.Float64()
	for _, s := range boutique() {
		s.calls *= 1 + callSpread*(2*rng.Float64()-1)
		s.work *= math.Exp(workSpread * rng.NormFloat64())
		services = append(services, s)
	}
	return services, visits
}
