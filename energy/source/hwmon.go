package source

import (
	"errors"
	"io/fs"
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

// Hwmon reads energy counters and power meters of the kernel's hardware monitoring. Of
// chips of unlike quality it takes the best. They are found anew after none could be read.
type Hwmon struct {
	root    string
	sensors []sensor
	quality energy.Quality
	buffer  [maxText]byte
}

type sensor struct {
	zone string
	file counterFile
	// gauge says that the file is a power in µW, else it is an energy in µJ.
	gauge bool
}

// NewHwmon finds the sensors below root; "" means /sys/class/hwmon. The error wraps
// ErrNoPower or ErrNotPermitted.
func NewHwmon(root string) (*Hwmon, error) {
	if root == "" {
		root = "/sys/class/hwmon"
	}
	h := &Hwmon{root: root}
	if err := h.open(); err != nil {
		return nil, err
	}
	return h, nil
}

// open finds the sensors of the best chips.
func (h *Hwmon) open() error {
	entries, err := os.ReadDir(h.root)
	if err != nil {
		return fileError(h.root, err)
	}
	h.quality = energy.None
	var refused []error
	for _, e := range entries {
		dir := filepath.Join(h.root, e.Name())
		name, err := readText(filepath.Join(dir, "name"))
		if err != nil {
			continue // a chip without a name is none of those
		}
		chip := strings.TrimSpace(string(name))
		quality := hwmonChips[chip]
		if quality == energy.None || quality < h.quality {
			continue
		}
		sensors, err := findSensors(dir, e.Name()+"/"+chip)
		if err != nil {
			refused = append(refused, err)
			continue
		}
		if len(sensors) > 0 && quality > h.quality {
			h.Close()
			h.quality, h.sensors = quality, nil
		}
		h.sensors = append(h.sensors, sensors...)
	}
	switch {
	case len(h.sensors) > 0:
		return nil
	case len(refused) > 0:
		return errors.Join(refused...)
	}
	return fileError(h.root, fs.ErrNotExist)
}

// findSensors opens a chip's energy counters, or if it has none its power meters. Where
// sockets have counters of their own, those of cores are left out.
func findSensors(dir, zone string) ([]sensor, error) {
	files, err := filepath.Glob(filepath.Join(dir, "energy*_input"))
	if err != nil {
		return nil, err
	}
	files = sockets(files)
	gauge := len(files) == 0
	for _, name := range []string{"power*_average", "power*_input"} {
		if len(files) == 0 {
			if files, err = filepath.Glob(filepath.Join(dir, name)); err != nil {
				return nil, err
			}
		}
	}
	slices.Sort(files)
	var out []sensor
	for _, path := range files {
		f, err := openCounter(path)
		if err != nil {
			return nil, errors.Join(err, closeSensors(out))
		}
		out = append(out, sensor{zone + "/" + strings.SplitN(filepath.Base(path), "_", 2)[0], f, gauge})
	}
	return out, nil
}

// sockets are the files that are labelled as a socket's, of none all.
func sockets(files []string) []string {
	whole := slices.DeleteFunc(slices.Clone(files), func(path string) bool {
		label, err := readText(strings.TrimSuffix(path, "_input") + "_label")
		return err != nil || !strings.HasPrefix(string(label), "Esocket")
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

// Name implements Source.
func (h *Hwmon) Name() string { return "hwmon" }

// Quality implements Source.
func (h *Hwmon) Quality() energy.Quality { return h.quality }

// Period implements Source: most drivers ask their chip once a second.
func (h *Hwmon) Period() time.Duration { return time.Second }

// Close implements Source.
func (h *Hwmon) Close() error {
	err := closeSensors(h.sensors)
	h.sensors = nil
	return err
}

// ReadTo implements Source.
func (h *Hwmon) ReadTo(dst []energy.Reading, at time.Time) ([]energy.Reading, error) {
	dst = dst[:0]
	if len(h.sensors) == 0 {
		if err := h.open(); err != nil {
			return dst, err
		}
	}
	var refused []error
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
