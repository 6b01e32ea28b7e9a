package compare

import (
	"fmt"

	"github.com/prometheus/procfs/sysfs"
)

// counters are a machine's, as procfs reads them, by zone.
type counters map[string]sysfs.RaplZone

// reading is what they said at one time, in microjoules.
type reading map[string]uint64

// newCounters finds those of a machine whose /sys is at root.
func newCounters(root string) (counters, error) {
	fs, err := sysfs.NewFS(root)
	if err != nil {
		return nil, err
	}
	zones, err := sysfs.GetRaplZones(fs)
	if err != nil {
		return nil, err
	}
	if len(zones) == 0 {
		return nil, fmt.Errorf("%s: no counter of energy", root)
	}
	c := counters{}
	for _, z := range zones {
		c[z.Path] = z
	}
	return c, nil
}

func (c counters) read() (reading, error) {
	r := reading{}
	for path, z := range c {
		micro, err := z.GetEnergyMicrojoules()
		if err != nil {
			return nil, err
		}
		r[path] = micro
	}
	return r, nil
}

// joules is what the machine took from one reading to a later one, before a counter could
// begin again twice.
func (c counters) joules(from, to reading) (sum float64) {
	for path, z := range c {
		if to[path] < from[path] {
			sum += float64(z.MaxMicrojoules-from[path]+to[path]) / 1e6
			continue
		}
		sum += float64(to[path]-from[path]) / 1e6
	}
	return sum
}
