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
	// limit is the developers', in cores, and memory what they let it request and use.
	limit  float64
	memory memory
}

// memory of a service in bytes: the developers' request and limit, and what it holds in the
// end.
type memory struct{ request, limit, held float64 }

// mebibytes of a manifest. A service holds a share of what the developers request.
func mebibytes(request, limit float64) memory {
	return memory{request * (1 << 20), limit * (1 << 20), heldShare * request * (1 << 20)}
}

// boutique is Google's Online Boutique (github.com/GoogleCloudPlatform/
// microservices-demo) with the limits of its manifests, which are table 6.3's without
// its cache and its load generator. Calls are the mean of that generator's mix of
// visits; the work and the memory held are of this package's making, as nothing is published.
func boutique() []service {
	return []service{
		{"ad", .7, .0025, .3, mebibytes(180, 300)},
		{"cart", 1.2, .002, .3, mebibytes(64, 128)},
		{"checkout", .05, .005, .2, mebibytes(64, 128)},
		{"currency", 3, .0006, .2, mebibytes(64, 128)},
		{"email", .05, .003, .2, mebibytes(64, 128)},
		{"frontend", 1, .006, .2, mebibytes(64, 128)},
		{"payment", .05, .001, .2, mebibytes(64, 128)},
		{"productcatalog", 3.5, .001, .2, mebibytes(64, 128)},
		{"recommendation", .8, .004, .2, mebibytes(220, 450)},
		{"shipping", .25, .001, .2, mebibytes(64, 128)},
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

// start is the limit and the memory that a service begins with, at so many visits a second.
func (s Scenario) start(of service, visits float64) (limit float64, m memory) {
	limit, m = of.limit, of.memory
	use := visits * of.calls * of.work
	switch {
	case s == unlimited:
		return nodeCores, memory{held: m.held}
	case s == cut, s == cutSome && use < enough*of.limit:
		limit, m.request, m.limit = limit*2/3, m.request*2/3, m.limit*2/3
	}
	return limit, m
}

// Visits a second are drawn between these; the work of a call is log-normal around its
// mean, the number of calls within a fifth of theirs. Memory grows over the ramp's seconds.
const (
	heldShare       = .4
	memoryRamp      = 600.
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

// visitSeconds draws as many visits of a minute as there are on average, and appends
// the seconds of each: as many calls of each service as it has on average, one after the other. Those of a
// visit that calls a service without responses are not known, and it is left out.
func visitSeconds(rng *rand.Rand, dst []float64, services []service, visits float64, responses [][]float64) []float64 {
visits:
	for range int(visits * 60) {
		sum := 0.
		for i, s := range services {
			calls := int(s.calls + rng.Float64()) // the rest is the chance of one more
			for range calls {
				all := responses[i]
				if len(all) == 0 {
					continue visits
				}
				sum += all[rng.IntN(len(all))]
			}
		}
		dst = append(dst, sum)
	}
	return dst
}
