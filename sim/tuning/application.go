package tuning

import (
	"math"
	"math/rand/v2"
)

// Service is one of an application. It is a plain value, safe for concurrent use.
type Service struct {
	Name string
	// Calls is how many a visit makes of it, Work the mean core-seconds of each.
	Calls, Work float64
	// Limit is the developers', in cores.
	Limit float64
}

// Boutique is Google's Online Boutique (github.com/GoogleCloudPlatform/
// microservices-demo) with the limits of its manifests, which are table 6.3's but for
// its cache and its load generator. Calls are the mean of that generator's mix of
// visits; the work is of this package's making, as nothing is published.
func Boutique() []Service {
	return []Service{
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

// Scenarios, in the table's order.
const (
	Unlimited Scenario = "unlimited" // none
	Default   Scenario = "default"   // the developers'
	Cut       Scenario = "cut"       // these less a third
	cutSome   Scenario = "cut-some"  // less a third where that seems enough
)

// Scenarios are all, in the table's order.
func Scenarios() []Scenario { return []Scenario{Unlimited, Default, Cut, cutSome} }

// enough is the share of its limit below which a service's mean use seems small.
const enough = .25

// limit is what a service begins with, at so many visits a second.
func (s Scenario) limit(of Service, visits, cores float64) float64 {
	use := visits * of.Calls * of.Work
	switch {
	case s == Unlimited:
		return cores
	case s == Cut, s == cutSome && use < enough*of.Limit:
		return of.Limit * 2 / 3
	}
	return of.Limit
}

// Visits a second are drawn between these; the work of a call is log-normal around its
// mean, the number of calls within a fifth of theirs.
const (
	fewest, busiest = 10, 30
	workSpread      = .3
	callSpread      = .2
)

// draw makes an application of a seed and says how many visits a second it has.
func draw(seed uint64) (services []Service, visits float64) {
	rng := rand.New(rand.NewPCG(seed, 0x7ab1e61))
	visits = fewest + (busiest-fewest)*rng.Float64()
	for _, s := range Boutique() {
		s.Calls *= 1 + callSpread*(2*rng.Float64()-1)
		s.Work *= math.Exp(workSpread * rng.NormFloat64())
		services = append(services, s)
	}
	return services, visits
}
