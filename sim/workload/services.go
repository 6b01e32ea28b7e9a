package workload

import (
	"fmt"
	"math"

	"github.com/spazio-scheduler/spazio/sim"
	"github.com/spazio-scheduler/spazio/sim/node"
)

// What a service of Services is: the most pods it has, the cores that each uses in the mean, the
// mean work of a request in core-seconds, its cores at the peak of the day, and what of them is
// left at night; and into how many steps a day is cut.
const (
	serviceMost   = 12
	serviceTarget = .6
	serviceWork   = .1
	servicePeak   = 3.
	serviceNight  = .25
	daySteps      = 288
)

// Services are n services and the pods that they may have, for a day of so many seconds: their
// load rises from a quarter in the night to its peak once, as a wave of the cosine does,
// of each service at a time of its own, by as much as half of its height more or less.
func Services(seed uint64, n int, day float64) ([]sim.Service, []sim.Pod, error) {
	if err := checked(Equal, "day", day); err != nil {
		return nil, nil, err
	}
	if n < 1 || n > maxPods/serviceMost {
		return nil, nil, refuse("services", n, fmt.Sprintf("1 to %d", maxPods/serviceMost))
	}
	s := newStreams(seed)
	var services []sim.Service
	var pods []sim.Pod
	for i := range n {
		service := sim.Service{Workload: fmt.Sprintf("service-%02d", i), Step: day / daySteps, Least: 2, Target: serviceTarget}
		peak, shift := servicePeak*(.5+s.choices.Float64()), s.choices.Float64()
		for k := range daySteps {
			wave := (1 - math.Cos(2*math.Pi*(float64(k)/daySteps+shift))) / 2
			service.Rates = append(service.Rates, peak/serviceWork*(serviceNight+(1-serviceNight)*wave))
		}
		services = append(services, service)
		for range serviceMost {
			pods = append(pods, sim.Pod{
				Workload: service.Workload, Startup: node.StartupLatency(s.startups),
				Server: node.Server{Rate: serviceTarget / serviceWork, Work: serviceWork},
			})
		}
	}
	return services, pods, nil
}
