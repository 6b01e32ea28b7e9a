package source

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spazio-scheduler/spazio/energy"
)

// hwmonChips are the drivers whose sensors show a machine or its processors, and what
// their power rests on. Others show a card, a supply line or a disk, whose sum is no
// machine's.
var hwmonChips = map[string]energy.Quality{
	"amd_energy":   energy.Measured,
	"fam15h_power": energy.Measured,
	"power_meter":  energy.Platform, // ACPI
	"ibmpowernv":   energy.Platform,
}

// hwmon reads energy counters and power meters of the kernel's hardware monitoring. Of
// chips of unlike quality it takes the best, and of a platform's sensors the widest by what
// their labels say that they measure, so that a total is counted once. Only what is known to
// be parts is summed: a chip with several sensors that don't say what they measure is refused,
// since one of them may contain the others. Sensors are found anew after none could be read.
type hwmon struct {
	about
	root    string
	sensors []sensor
	absent  error // of chips whose sensors are missing from the sum
	buffer  [maxText]byte
}

type sensor struct {
	zone string
	file counterFile
	err  error // why there is no file
	// gauge reports that the file is a power in µW, else it is an energy in µJ.
	gauge bool
	// width is what the chip's labels name as measured, in the words of label.
	width width
	label string
}

// newHwmon finds the sensors below root; "" means /sys/class/hwmon. The error wraps
// ErrNoPower or ErrNotPermitted.
func newHwmon(root string) (*hwmon, error) {
	root = cmp.Or(root, "/sys/class/hwmon")
	// Most drivers ask their chip once a second.
	h := &hwmon{about: about{name: "hwmon", period: time.Second}, root: root}
	if err := h.open(); err != nil {
		return nil, err
	}
	return h, nil
}

// open finds the sensors of the best chips.
func (h *hwmon) open() error {
	entries, err := os.ReadDir(h.root)
	if err != nil {
		return fileError(h.root, err)
	}
	h.quality, h.absent = energy.None, nil
	found, refused := map[energy.Quality][]sensor{}, map[energy.Quality][]error{}
	for _, e := range entries {
		dir := filepath.Join(h.root, e.Name())
		device := filepath.Join(dir, "device") // of which some drivers have all, or all but the name
		chip := cmp.Or(text(filepath.Join(dir, "name")), text(filepath.Join(device, "name")))
		quality := hwmonChips[chip]
		if quality == energy.None {
			continue
		}
		sensors, err := findSensors(dir, e.Name()+"/"+chip, quality)
		if err == nil && len(sensors) == 0 {
			sensors, err = findSensors(device, e.Name()+"/"+chip, quality)
		}
		found[quality] = append(found[quality], sensors...)
		refused[quality] = append(refused[quality], err)
	}
	var all []error
	for _, quality := range []energy.Quality{energy.Measured, energy.Platform} {
		sensors, err := summedSensors(found[quality], quality)
		switch {
		case len(h.sensors) > 0:
			_ = closeSensors(sensors) // files that were read alone
		case len(sensors) > 0:
			h.quality, h.sensors = quality, sensors
			if quality != energy.Platform || !sensors[0].width.once() {
				h.absent = errors.Join(append(refused[quality], err)...)
			}
		}
		all = append(append(all, refused[quality]...), err)
	}
	if len(h.sensors) > 0 {
		return nil
	}
	if err := errors.Join(all...); err != nil {
		return err
	}
	return fmt.Errorf("source: %w: %s has no sensor of %s", ErrNoPower, h.root, strings.Join(slices.Sorted(maps.Keys(hwmonChips)), ", "))
}

// summedSensors are those of the sensors of a quality that are summed; the rest is closed. The
// error is of those that are missing: where one of them is wider than all others, these are
// parts of what it measures, and no sum.
func summedSensors(sensors []sensor, quality energy.Quality) ([]sensor, error) {
	var opened, missing []sensor
	for _, s := range sensors {
		if s.err == nil {
			opened = append(opened, s)
		} else {
			missing = append(missing, s)
		}
	}
	top := width(0)
	if quality == energy.Platform && len(opened) > 0 {
		opened = widest(opened)
		top = opened[0].width
	}
	var errs []error
	wider := false
	for _, s := range missing {
		if s.width >= top || quality != energy.Platform {
			errs = append(errs, s.err)
		}
		wider = wider || quality == energy.Platform && s.width > top && s.label != "" && !top.once()
	}
	if wider {
		errs = append(errs, closeSensors(opened))
		opened = nil
	}
	return opened, errors.Join(errs...)
}

// text is a file's, "" of one that can't be read.
func text(path string) string {
	b, err := readText(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// widest are the sensors that count of those of platforms, which contain the others; the
// rest is closed. Of several that measure the whole machine the first chip's count that shows
// a power.
func widest(sensors []sensor) []sensor {
	top, gauge, output := width(0), true, true
	for _, s := range sensors {
		if s.width > top {
			top, gauge, output = s.width, true, true
		}
		if s.width == top {
			gauge, output = gauge && s.gauge, output && isOutput(s.label)
		}
	}
	if top.once() {
		slices.SortStableFunc(sensors, func(a, b sensor) int { return b.shows() - a.shows() })
	}
	var keep, rest []sensor
	for _, s := range sensors {
		switch first := len(keep) == 0 || !top.once(); {
		case s.width == top && first && s.gauge == gauge && (output || !isOutput(s.label)):
			keep = append(keep, s)
		default:
			rest = append(rest, s)
		}
	}
	_ = closeSensors(rest) // files that were read alone
	return keep
}

// shows is 1 of a sensor that shows an amount which can be a machine's, 0 of another.
func (s sensor) shows() int {
	v, err := s.file.read(make([]byte, maxText))
	if err != nil || s.gauge && !(v > 0 && v <= energy.MaxMachineWatts*1e6) {
		return 0
	}
	return 1
}

// findSensors opens a chip's energy counters and its power meters, the latter only where a
// platform has them beside or there are no counters. Where sockets have counters of their
// own, those of cores are left out. A sensor that can't be opened has its error; that of the
// chip is that its sensors don't say what they measure.
func findSensors(dir, zone string, quality energy.Quality) ([]sensor, error) {
	counters, err := filepath.Glob(filepath.Join(dir, "energy*_input"))
	if err != nil {
		return nil, err
	}
	if err := labelled(counters, quality); err != nil {
		return nil, err
	}
	counters = sockets(counters)
	var meters []string
	for _, name := range []string{"power*_average", "power*_input"} {
		if len(meters) == 0 && (len(counters) == 0 || quality == energy.Platform) {
			if meters, err = filepath.Glob(filepath.Join(dir, name)); err != nil {
				return nil, err
			}
		}
	}
	meters = slices.DeleteFunc(meters, func(path string) bool { return text(sensorFile(path, "is_battery")) == "1" })
	if err := labelled(meters, quality); err != nil {
		return nil, err
	}
	slices.Sort(counters)
	slices.Sort(meters)
	var out []sensor
	for i, path := range slices.Concat(counters, meters) {
		f, err := openCounter(path)
		label := labelOf(path)
		name, _, _ := strings.Cut(filepath.Base(path), "_")
		out = append(out, sensor{zone + "/" + name, f, err, i >= len(counters), widthOf(label), label})
	}
	return out, nil
}

// sensorFile is a file beside a sensor's, as power1_label beside power1_input.
func sensorFile(path, attribute string) string {
	name, _, _ := strings.Cut(filepath.Base(path), "_")
	return filepath.Join(filepath.Dir(path), name+"_"+attribute)
}

// labelOf returns the words of a chip for what a sensor measures.
func labelOf(path string) string {
	return strings.TrimSpace(text(sensorFile(path, "label")) + " " + text(sensorFile(path, "oem_info")))
}

// labelled refuses several sensors of one chip that don't say what they measure: one may be the
// sum of the others. A platform's that is alone in that is the machine's, as of ACPI, and does
// not matter beside one of the whole machine.
func labelled(paths []string, quality energy.Quality) error {
	var unclear []string
	for _, path := range paths {
		label := labelOf(path)
		switch {
		case quality == energy.Platform && widthOf(label) == whole:
			return nil
		case label == "" || quality == energy.Platform && widthOf(label) == unnamed:
			unclear = append(unclear, path)
		}
	}
	if len(paths) < 2 || len(unclear) == 0 || quality == energy.Platform && len(unclear) == 1 {
		return nil
	}
	return fmt.Errorf("source: %w: no label says what %s measure, so that they are not summed: one may contain the others", ErrNoPower, strings.Join(unclear, ", "))
}

// sockets are the files that are labelled as a socket's, of none all.
func sockets(files []string) []string {
	whole := slices.DeleteFunc(slices.Clone(files), func(path string) bool {
		return !strings.HasPrefix(text(sensorFile(path, "label")), "Esocket")
	})
	if len(whole) > 0 {
		return whole
	}
	return files
}

func closeSensors(sensors []sensor) error {
	var errs []error
	for _, s := range sensors {
		errs = append(errs, s.file.file.Close())
	}
	return errors.Join(errs...)
}

// Close implements Source.
func (h *hwmon) Close() error {
	err := closeSensors(h.sensors)
	h.sensors = nil
	return err
}

// ReadTo implements Source.
func (h *hwmon) ReadTo(dst []energy.Reading, at time.Time) ([]energy.Reading, error) {
	dst = dst[:0]
	if len(h.sensors) == 0 {
		if err := h.open(); err != nil {
			return dst, err
		}
	}
	refused := []error{h.absent}
	for i := range h.sensors {
		s := &h.sensors[i]
		v, err := s.file.read(h.buffer[:])
		if err != nil {
			refused = append(refused, err)
			continue
		}
		r := energy.Reading{Zone: s.zone, At: at}
		if h.quality == energy.Platform {
			r.MaxWatts = energy.MaxMachineWatts
		}
		if s.gauge {
			r.Gauge, r.Watts = true, float64(v)*1e-6
		} else {
			r.Counter = v
		}
		dst = append(dst, r)
	}
	if len(dst) == 0 { // they may have come anew
		refused = append(refused, h.Close())
	}
	return dst, errors.Join(refused...)
}
