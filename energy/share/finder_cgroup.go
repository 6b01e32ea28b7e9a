package share

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// cgroupGuests are the control groups of guests, by their paths.
type cgroupGuests struct {
	known map[string]*scope
	order uint64
}

// scope is a control group of a guest.
type scope struct {
	guest string // "" until it is known
	vcpus int
	file  string // that holds its CPU time
	order uint64 // the lower, the earlier it was found
	first uint64 // the look that found it
	look  uint64 // the last that saw it
}

func newCgroupGuests() cgroupGuests { return cgroupGuests{known: map[string]*scope{}} }

// slices below the root of one hierarchy, with systemd and without, where libvirt puts
// guests; hierarchies are version 2's, and version 1's of CPU time.
var (
	hierarchies   = [...]string{"", "cpuacct", "cpu,cpuacct", "unified"}
	machineSlices = [...]string{"machine.slice", "machine"}
)

// findCgroups finds guests by the control groups of the first hierarchy that has some.
func (f *Finder) findCgroups() error {
	if _, err := os.Stat(f.config.CgroupRoot); err != nil {
		return fmt.Errorf("share: %w", err)
	}
	for _, hierarchy := range hierarchies {
		for _, slice := range machineSlices {
			if err := f.findScopes(filepath.Join(f.config.CgroupRoot, hierarchy, slice), maxPartitions); err != nil {
				return err
			}
		}
		if len(f.found) > 0 {
			break
		}
	}
	for path, s := range f.cgroups.known {
		if s.look != f.looks {
			delete(f.cgroups.known, path)
		}
	}
	return nil
}

// maxPartitions bounds how deep slices are in one another: libvirt's partitions of resources.
const maxPartitions = 4

// findScopes finds those below a slice that there may not be.
func (f *Finder) findScopes(dir string, depth int) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("share: %w", err)
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if name, ok := parseScope(e.Name()); ok {
			f.measureScope(path, name)
			continue
		}
		if inner := strings.HasSuffix(e.Name(), ".slice") || strings.HasSuffix(e.Name(), ".partition"); inner && depth > 1 {
			if err := f.findScopes(path, depth-1); err != nil {
				return err
			}
		}
	}
	return nil
}

// measureScope reads the CPU time of a guest's control group.
func (f *Finder) measureScope(path, name string) {
	s := f.cgroups.known[path]
	if s == nil {
		if len(f.cgroups.known) >= maxGuests {
			f.refuse(refusedTooMany)
			return
		}
		f.cgroups.order++
		s = &scope{order: f.cgroups.order, first: f.looks}
		f.cgroups.known[path] = s
	}
	s.look = f.looks
	if f.isEmpty(path) { // left behind by a guest that has ended
		s.guest = ""
		f.refuse(refusedGone)
		return
	}
	if s.guest == "" && !f.identify(path, name, s) {
		return
	}
	if (f.looks-s.first)%rounds == 0 { // virtual CPUs come and go
		f.countCPUs(path, s)
	}
	text, err := f.read(s.file)
	if err != nil {
		f.refuseRead(err)
		return
	}
	cpu, err := parseUsage(text)
	if err != nil {
		f.refuse(refusedMalformed)
		return
	}
	f.found = append(f.found, candidate{
		Guest: Guest{Name: s.guest, CPU: cpu, VCPUs: s.vcpus, Instance: hash(path)}, order: s.order,
	})
}

// isEmpty reports whether a control group of version 2 has no process, nor has one in it.
func (f *Finder) isEmpty(path string) bool {
	text, err := f.read(filepath.Join(path, "cgroup.events"))
	return err == nil && bytes.Contains(text, []byte("populated 0\n"))
}

// identify finds out which guest a scope is: by the command line of its process, for
// libvirt leaves out of a scope's name what systemd does not take, and cuts it; or, if no
// process of QEMU shows after some looks, by its own.
func (f *Finder) identify(path, name string, s *scope) bool {
	guest, vcpus, ok := f.emulator(path)
	if !ok {
		if f.looks-s.first < rounds && f.hasProc() {
			return false // about to be started
		}
		guest, vcpus = name, 1
	}
	if checkName(guest) != nil {
		f.refuse(refusedName)
		return false
	}
	if s.file = usageFile(path); s.file == "" {
		f.refuse(refusedMalformed)
		return false
	}
	s.guest, s.vcpus = guest, vcpus
	f.countCPUs(path, s)
	return true
}

// hasProc reports whether there are processes to look at.
func (f *Finder) hasProc() bool {
	_, err := os.Stat(filepath.Join(f.config.ProcRoot, "self"))
	return err == nil
}

// usageFile is the file in a control group that holds its CPU time.
func usageFile(path string) string {
	for _, name := range [...]string{"cpuacct.usage", "cpu.stat"} {
		file := filepath.Join(path, name)
		if text, err := os.ReadFile(file); err == nil {
			if _, err := parseUsage(text); err == nil {
				return file
			}
		}
	}
	return ""
}

// emulator looks for QEMU's process in a scope or the groups that libvirt makes in it.
func (f *Finder) emulator(path string) (guest string, vcpus int, ok bool) {
	for _, inner := range [...]string{"", "libvirt", "libvirt/emulator", "emulator"} {
		text, err := os.ReadFile(filepath.Join(path, inner, "cgroup.procs"))
		if err != nil {
			continue
		}
		for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
			pid, err := strconv.Atoi(lines.Text())
			if err != nil || pid <= 0 {
				continue
			}
			line, err := f.read(f.procFile(pid, "cmdline"))
			if err != nil {
				continue
			}
			if guest, vcpus, ok = parseCommand(line); ok {
				return guest, vcpus, true
			}
		}
	}
	return "", 0, false
}

// countCPUs counts the groups that libvirt makes of a guest's virtual CPUs. Without any the
// number stays.
func (f *Finder) countCPUs(path string, s *scope) {
	n := 0
	for _, inner := range [...]string{"", "libvirt"} {
		entries, err := os.ReadDir(filepath.Join(path, inner))
		if err != nil {
			continue
		}
		for _, e := range entries {
			if cpu, ok := strings.CutPrefix(e.Name(), "vcpu"); ok && e.IsDir() {
				if _, err := strconv.ParseUint(cpu, 10, 16); err == nil {
					n++
				}
			}
		}
	}
	if n > 0 {
		s.vcpus = min(n, mostCPUs)
	}
}
