package telemetry

import "time"

// Rescans reads a tree at its beginning and again after each age, and returns the pods and the
// health that a source would report each time.
func Rescans(c CgroupConfig, between func(i int), ages ...time.Duration) (pods [][]Pod, health []error, err error) {
	in, err := openInotify()
	if err != nil {
		return nil, nil, err
	}
	defer in.close()
	var now error
	t, start := newTree(c.withDefaults(), in, func(err error) { now = err }), time.Now()
	for i, age := range append([]time.Duration{0}, ages...) {
		between(i)
		t.rescan(start.Add(age))
		t.report(func(PodEvent) {})
		pods, health = append(pods, append([]Pod(nil), t.listing.pods...)), append(health, now)
	}
	return pods, health, nil
}
