package share

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// processGuests are the processes of a machine, by their numbers.
type processGuests struct {
	known  map[int]*process
	guests int   // of known
	pids   []int // of the last look, sorted
}

// process is one that was looked at. Its guest's name is empty if it runs none.
type process struct {
	guest string
	vcpus int
	start uint64 // in userHZ since the machine's
	look  uint64 // the last that saw it
}

func newProcessGuests() processGuests { return processGuests{known: map[int]*process{}} }

// mostNew bounds how many processes are looked at for the first time in one look, which
// many at once would make late.
const mostNew = 500

// findProcesses finds guests by their processes. One that is known to run a guest is asked
// for its CPU time; one that is new is looked at, and one that ran none each tenth time.
func (f *Finder) findProcesses() error {
	if err := f.procs.list(f.config.ProcRoot); err != nil {
		return err
	}
	news := 0
	for _, pid := range f.procs.pids {
		p := f.procs.known[pid]
		switch {
		case p == nil && news < mostNew:
			news++
			p = &process{}
			f.procs.known[pid] = p
			f.examine(pid, p)
		case p != nil && p.guest == "" && uint64(pid)%rounds == f.looks%rounds:
			f.examine(pid, p)
		}
		if p == nil {
			continue
		}
		p.look = f.looks
		if p.guest != "" {
			f.measure(pid, p)
		}
	}
	for pid, p := range f.procs.known {
		if p.look != f.looks {
			f.procs.forget(pid, p)
		}
	}
	return nil
}

func (g *processGuests) forget(pid int, p *process) {
	delete(g.known, pid)
	if p.guest != "" {
		g.guests--
	}
}

// list reads the numbers of all processes.
func (g *processGuests) list(root string) error {
	dir, err := os.Open(root)
	if err != nil {
		return fmt.Errorf("share: %w", err)
	}
	names, err := dir.Readdirnames(-1)
	if closed := dir.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("share: %w", err)
	}
	g.pids = g.pids[:0]
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && pid > 0 {
			g.pids = append(g.pids, pid)
		}
	}
	slices.Sort(g.pids)
	return nil
}

// examine finds out which guest a process runs. When it was started is read before: if its
// number goes to another meanwhile, measure will see that.
func (f *Finder) examine(pid int, p *process) {
	stat, err := f.stat(pid)
	if err != nil {
		return // of a process that nothing is known of
	}
	line, err := f.read(f.procFile(pid, "cmdline"))
	if err != nil {
		return
	}
	name, vcpus, ok := parseCommand(line)
	if !ok {
		return
	}
	if checkName(name) != nil {
		f.refuse(refusedName)
		return
	}
	if f.procs.guests == maxGuests {
		f.refuse(refusedTooMany)
		return
	}
	f.procs.guests++
	p.guest, p.vcpus, p.start = name, vcpus, stat.start
}

// measure reads the CPU time of a guest's process.
func (f *Finder) measure(pid int, p *process) {
	stat, err := f.stat(pid)
	if err != nil {
		f.refuseRead(err)
		return
	}
	if stat.start != p.start || stat.ended { // another has its number
		f.refuse(refusedGone)
		f.procs.forget(pid, p)
		return
	}
	f.found = append(f.found, candidate{
		Guest: Guest{Name: p.guest, CPU: stat.cpu, VCPUs: p.vcpus, Instance: uint64(pid)<<40 ^ stat.start},
		order: stat.start,
	})
}

func (f *Finder) stat(pid int) (processStat, error) {
	text, err := f.read(f.procFile(pid, "stat"))
	if err != nil {
		return processStat{}, err
	}
	return parseStat(text)
}

func (f *Finder) procFile(pid int, name string) string {
	return filepath.Join(f.config.ProcRoot, strconv.Itoa(pid), name)
}
