package source

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spazio-scheduler/spazio/energy"
)

// zone is a directory of a powercap tree.
type zone struct {
	name  string // as a Reading has it: its parent's, a slash and its own
	dir   string
	limit uint64 // the counter's range
	part  bool
	twin  string  // equal for zones that may show the same counter
	watts float64 // the most it can take, 0 for a processor's package
}

// findZones are the zones in the directories of a powercap tree, in their order. Those
// without a name or a range are left out, and the error has the reason why, unless they are parts of
// one that is there; without any it is that there are none.
func findZones(root string, dirs []string, sum Zones) ([]zone, error) {
	names := map[string]string{} // by directory
	named := map[string]bool{}
	var zones []zone
	var refused, parts []error
	for _, dir := range dirs {
		text, err := readText(filepath.Join(root, dir, "name"))
		if err != nil {
			refused = append(refused, err)
			continue
		}
		own := strings.TrimSpace(string(text))
		parent := names[parentDir(dir)]
		name := own
		if parent != "" {
			name = parent + "/" + own
		}
		if own == "" || named[name] {
			name = dir // so that each has its own
		}
		names[dir], named[name] = name, true
		limit, err := readCounter(filepath.Join(root, dir, "max_energy_range_uj"))
		part := !summed(own, parent, sum)
		switch {
		case err != nil && part:
			parts = append(parts, err)
			continue
		case err != nil:
			refused = append(refused, err)
			continue
		}
		z := zone{name: name, dir: filepath.Join(root, dir), limit: limit, part: part, twin: twinOf(own, parent)}
		if isPsys(own) {
			z.watts = energy.MaxMachineWatts
		}
		zones = append(zones, z)
	}
	if !sums(zones) {
		refused = append(refused, parts...)
	}
	if len(zones) == 0 && len(refused) == 0 {
		return nil, fmt.Errorf("source: %w: %s has no directory intel-rapl:*", ErrNoPower, root)
	}
	return withSum(zones), errors.Join(refused...)
}

// withSum makes all zones at the top count where none would: of a machine that has no
// psys, or calls its packages otherwise. Psys counts where there is nothing else.
func withSum(zones []zone) []zone {
	if sums(zones) {
		return zones
	}
	for _, psys := range []bool{false, true} {
		found := false
		for i := range zones {
			zones[i].part = strings.Contains(zones[i].name, "/") || isPsys(zones[i].name) != psys
			found = found || !zones[i].part
		}
		if found {
			break
		}
	}
	return zones
}

// sums reports whether one of the zones is summed.
func sums(zones []zone) bool {
	return slices.ContainsFunc(zones, func(z zone) bool { return !z.part })
}

// isPsys reports whether a zone is the platform, which contains the packages; a machine of
// several packages may have psys-1 and so on beside psys.
func isPsys(name string) bool { return name == "psys" || strings.HasPrefix(name, "psys-") }

// zoneDirs are the names of the zones' directories, sorted.
func zoneDirs(root string) ([]string, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, fileError(root, err)
	}
	var dirs []string
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "intel-rapl") && strings.Contains(e.Name(), ":") {
			dirs = append(dirs, e.Name())
		}
	}
	return dirs, nil
}

// byDriver are the directories of intel-rapl, then those of others: intel-rapl-mmio shows
// what intel-rapl does, so that one of them is read.
func byDriver(dirs []string) [][]string {
	isMSR := func(dir string) bool { return strings.HasPrefix(dir, "intel-rapl:") }
	msr := slices.DeleteFunc(slices.Clone(dirs), func(d string) bool { return !isMSR(d) })
	others := slices.DeleteFunc(slices.Clone(dirs), isMSR)
	if len(msr) == 0 || len(others) == 0 {
		return [][]string{dirs}
	}
	return [][]string{msr, others}
}

// parentDir is the directory of the zone that contains another: intel-rapl:0 of
// intel-rapl:0:1.
func parentDir(dir string) string {
	if i := strings.LastIndexByte(dir, ':'); strings.Count(dir, ":") > 1 {
		return dir[:i]
	}
	return ""
}

// memoryZone is the name of the zone of a package's memory.
const memoryZone = "dram"

// summed reports whether a zone is part of the machine's sum.
func summed(own, parent string, sum Zones) bool {
	if sum == Psys {
		return isPsys(own)
	}
	return parent == "" && strings.HasPrefix(own, "package-") || parent != "" && own == memoryZone
}
