package share_test

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/spazio-scheduler/spazio/energy/share"
	"github.com/spazio-scheduler/spazio/energy/source/fakerapl"
	"github.com/spazio-scheduler/spazio/field"
)

// TestMain lets the test binary act as a guest.
func TestMain(m *testing.M) {
	fakerapl.GuestMain()
	os.Exit(m.Run())
}

// machine is a /proc and a tree of control groups in a directory.
type machine struct {
	t         *testing.T
	proc, cgs string
}

func newMachine(t *testing.T) *machine {
	dir := t.TempDir()
	m := &machine{t, filepath.Join(dir, "proc"), filepath.Join(dir, "cgroup")}
	m.write(filepath.Join(m.proc, "self/stat"), "")
	m.write(filepath.Join(m.proc, "stat"), "cpu 1 2 3\n")
	m.write(filepath.Join(m.cgs, "cgroup.procs"), "")
	return m
}

func (m *machine) write(path, text string) {
	m.t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) remove(path string) {
	m.t.Helper()
	if err := os.RemoveAll(path); err != nil {
		m.t.Fatal(err)
	}
}

// process adds one to /proc.
func (m *machine) process(pid, ticks, start int, state string, args ...string) {
	m.t.Helper()
	dir := filepath.Join(m.proc, fmt.Sprint(pid))
	m.write(filepath.Join(dir, "stat"), fmt.Sprintf("%d (a) b) %s 1 1 1 0 -1 0 0 0 0 0 %d %d 9 9 20 0 1 0 %d 0 0\n", pid, state, ticks, ticks, start))
	m.write(filepath.Join(dir, "cmdline"), strings.Join(args, "\x00")+"\x00")
}

func (m *machine) qemu(pid, ticks, start int, name string) {
	m.t.Helper()
	m.process(pid, ticks, start, "S", "/usr/bin/qemu-system-x86_64", "-name", "guest="+name+",debug-threads=on", "-smp", "2")
}

func (m *machine) finder(mode share.Mode) *share.Finder {
	m.t.Helper()
	f, err := share.NewFinder(share.FinderConfig{Mode: mode, ProcRoot: m.proc, CgroupRoot: m.cgs})
	if err != nil {
		m.t.Fatal(err)
	}
	return f
}

// guests formats those that a finder finds, without their instances, as NAME CPU VCPUS.
func guests(t *testing.T, f *share.Finder) []string {
	t.Helper()
	found, err := f.GuestsTo(nil)
	if err != nil {
		t.Fatal(err)
	}
	all := []string{}
	for _, g := range found {
		all = append(all, fmt.Sprint(g.Name, " ", g.CPU, " ", g.VCPUs))
	}
	return all
}

func expect(t *testing.T, f *share.Finder, want ...string) {
	t.Helper()
	if d := cmp.Diff(want, guests(t, f), cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
}

func expectRefused(t *testing.T, f *share.Finder, want map[string]uint64) {
	t.Helper()
	if d := cmp.Diff(want, f.Refused(), cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
}

func TestProcesses(t *testing.T) {
	m := newMachine(t)
	m.qemu(100, 150, 7000, "vm1")
	m.qemu(200, 5, 8000, "vm2")
	m.process(300, 9, 1, "S", "vi", "qemu-system-x86_64", "-name", "guest=vi")
	m.process(301, 9, 1, "S") // a kernel thread
	f := m.finder(share.ByProcess)
	expect(t, f, "vm1 3s 2", "vm2 100ms 2")
	m.qemu(100, 170, 7000, "vm1")
	m.remove(filepath.Join(m.proc, "200"))
	expect(t, f, "vm1 3.4s 2")
	expectRefused(t, f, nil)
}

// TestProcessReuse: the ID of an ended process is reused.
func TestProcessReuse(t *testing.T) {
	m := newMachine(t)
	m.qemu(100, 150, 7000, "vm1")
	f := m.finder(share.ByProcess)
	first, _ := f.GuestsTo(nil)
	m.process(100, 900, 9000, "S", "vi")
	expect(t, f)
	expectRefused(t, f, map[string]uint64{"gone": 1})
	expect(t, f)
	m.process(100, 1, 9500, "S", "/usr/bin/qemu-system-x86_64", "-name", "guest=vm1")
	eventually(t, f, "vm1 20ms 1")
	second, _ := f.GuestsTo(nil)
	if len(first) != 1 || len(second) != 1 || first[0].Instance == second[0].Instance {
		t.Error("one instance of two processes:", first, second)
	}
	m.process(100, 1, 9500, "Z")
	expect(t, f)
}

// eventually calls the finder as often as it takes to look at all processes again.
func eventually(t *testing.T, f *share.Finder, want ...string) {
	t.Helper()
	var got []string
	for range 10 {
		if got = guests(t, f); slices.Equal(got, want) {
			return
		}
	}
	t.Errorf("%q after ten looks, want %q", got, want)
}

// TestProcessBecomesGuest: a process that was no guest is looked at again.
func TestProcessBecomesGuest(t *testing.T) {
	m := newMachine(t)
	for pid := 100; pid < 120; pid++ {
		m.process(pid, 0, 1, "S", "libvirtd")
	}
	f := m.finder(share.ByProcess)
	expect(t, f)
	var want []string
	for pid := 100; pid < 120; pid++ {
		m.qemu(pid, 1, 1, fmt.Sprint("vm", pid))
		want = append(want, fmt.Sprint("vm", pid, " 20ms 2"))
	}
	eventually(t, f, want...)
}

// TestProcessNames: invalid names are refused, each time that they are looked at.
func TestProcessNames(t *testing.T) {
	m := newMachine(t)
	for i, name := range []string{"../x", "a/b", "..", ".", "a b", "ä", strings.Repeat("x", 129), "/etc/passwd"} {
		m.qemu(100+i, 1, 1, name)
	}
	m.qemu(200, 1, 1, "vm")
	f := m.finder(share.ByProcess)
	expect(t, f, "vm 20ms 2")
	expectRefused(t, f, map[string]uint64{"name": 8})
	for range 10 {
		expect(t, f, "vm 20ms 2")
	}
	expectRefused(t, f, map[string]uint64{"name": 16})
}

// TestProcessTwins: of two guests of one name the older counts, whatever their IDs.
func TestProcessTwins(t *testing.T) {
	m := newMachine(t)
	m.qemu(100, 100, 9000, "vm")
	m.qemu(200, 1, 8000, "vm")
	f := m.finder(share.ByProcess)
	expect(t, f, "vm 20ms 2")
	expectRefused(t, f, map[string]uint64{"duplicate": 1})
}

// TestProcessVanishes: a process may end between being listed and being read, or have an unknown
// format.
func TestProcessVanishes(t *testing.T) {
	m := newMachine(t)
	m.qemu(100, 1, 1, "vm1")
	m.qemu(101, 1, 1, "vm2")
	m.qemu(102, 1, 1, "vm3")
	f := m.finder(share.ByProcess)
	expect(t, f, "vm1 20ms 2", "vm2 20ms 2", "vm3 20ms 2")
	m.remove(filepath.Join(m.proc, "100/stat"))
	m.write(filepath.Join(m.proc, "101/stat"), "101 (torn")
	expect(t, f, "vm3 20ms 2")
	expectRefused(t, f, map[string]uint64{"gone": 1, "malformed": 1})
	m.remove(m.proc)
	if found, err := f.GuestsTo([]share.Guest{{}}); err == nil || len(found) > 0 {
		t.Errorf("without /proc: %v, %v", found, err)
	}
}

// TestManyProcesses: 10,000 that claim to be guests are refused beyond the bound, and displace none
// that was there before.
func TestManyProcesses(t *testing.T) {
	m := newMachine(t)
	m.proc = memory(t)
	m.qemu(10, 1, 1, "vm")
	f := m.finder(share.ByProcess)
	expect(t, f, "vm 20ms 2")
	for i := range 10000 {
		m.qemu(1000+i, 1, 2, fmt.Sprint("hostile", i))
	}
	var found []share.Guest
	for range 40 {
		var err error
		if found, err = f.GuestsTo(found); err != nil {
			t.Fatal(err)
		}
	}
	names := func(g share.Guest) bool { return g.Name == "vm" }
	if len(found) != share.MaxGuests || !slices.ContainsFunc(found, names) || f.Refused()["too_many"] < 9000 {
		t.Errorf("%d guests, refused %v", len(found), f.Refused())
	}
	for i := range 10000 {
		m.remove(filepath.Join(m.proc, fmt.Sprint(1000+i)))
	}
	expect(t, f, "vm 20ms 2")
	m.qemu(11, 1, 3, "new")
	expect(t, f, "new 20ms 2", "vm 20ms 2")
}

// scopes are the layouts of guests' control groups, and the file of their CPU time.
var scopes = map[string]struct{ dir, file, text string }{
	"version 2, systemd":          {"machine.slice/machine-qemu\\x2d3\\x2dvm.scope", "cpu.stat", "usage_usec 1500000\nuser_usec 1\n"},
	"version 1, systemd":          {"cpu,cpuacct/machine.slice/machine-qemu\\x2d3\\x2dvm.scope", "cpuacct.usage", "1500000000\n"},
	"version 1, one controller":   {"cpuacct/machine.slice/machine-qemu\\x2d3\\x2dvm.scope", "cpuacct.usage", "1500000000\n"},
	"version 2 beside 1":          {"unified/machine.slice/machine-qemu\\x2d3\\x2dvm.scope", "cpu.stat", "usage_usec 1500000\n"},
	"version 2, without systemd":  {"machine/qemu-3-vm.libvirt-qemu", "cpu.stat", "usage_usec 1500000\n"},
	"version 2, with a partition": {"machine.slice/machine-prod.slice/machine-qemu\\x2d3\\x2dvm.scope", "cpu.stat", "usage_usec 1500000\n"},
}

func TestCgroups(t *testing.T) {
	for name, c := range scopes {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			scope := filepath.Join(m.cgs, c.dir)
			m.write(filepath.Join(scope, c.file), c.text)
			m.write(filepath.Join(scope, "cgroup.procs"), "100\n")
			m.process(100, 900, 1, "S", "qemu-system-x86_64", "-smp", "8", "-name", "guest=my_vm") // a name that systemd does not take
			m.write(filepath.Join(filepath.Dir(scope), "machine-lxc\\x2d1\\x2dother.scope", c.file), c.text)
			for _, mode := range []share.Mode{share.Auto, share.ByCgroup} {
				f := m.finder(mode)
				expect(t, f, "my_vm 1.5s 8")
				expectRefused(t, f, nil)
			}
			m.write(filepath.Join(scope, "libvirt/vcpu0/cpu.max"), "")
			m.write(filepath.Join(scope, "libvirt/vcpu1/cpu.max"), "")
			m.write(filepath.Join(scope, "libvirt/vcpux/cpu.max"), "")
			f := m.finder(share.Auto)
			expect(t, f, "my_vm 1.5s 2")
			m.write(filepath.Join(scope, "libvirt/vcpu2/cpu.max"), "") // comes while it runs
			eventually(t, f, "my_vm 1.5s 3")
			m.remove(scope)
			expect(t, f, "my_vm 18s 8") // its process is still there
			m.remove(filepath.Join(m.proc, "100"))
			expect(t, f)
		})
	}
}

// TestCgroupNames: a guest without a visible process is named after its control group, after a
// delay.
func TestCgroupNames(t *testing.T) {
	m := newMachine(t)
	scope := filepath.Join(m.cgs, "machine.slice/machine-qemu\\x2d3\\x2dvm.scope")
	m.write(filepath.Join(scope, "cpu.stat"), "usage_usec 7\n")
	m.write(filepath.Join(scope, "libvirt/cgroup.procs"), "100\n")
	m.process(100, 1, 1, "S", "libvirtd") // about to be QEMU
	f := m.finder(share.ByCgroup)
	expect(t, f)
	m.qemu(100, 1, 1, "real-name")
	expect(t, f, "real-name 7µs 2")
	m.process(100, 1, 1, "S", "libvirtd")
	f = m.finder(share.ByCgroup)
	for range 10 {
		expect(t, f)
	}
	expect(t, f, "vm 7µs 1")
	m.qemu(100, 1, 1, "../x")
	f = m.finder(share.ByCgroup)
	expect(t, f)
	expectRefused(t, f, map[string]uint64{"name": 1})
}

// TestCgroupRestart: a restarted guest has another instance.
func TestCgroupRestart(t *testing.T) {
	m := newMachine(t)
	instance := func(f *share.Finder) uint64 {
		found, err := f.GuestsTo(nil)
		if err != nil || len(found) != 1 || found[0].Name != "vm" {
			t.Fatal(found, err)
		}
		return found[0].Instance
	}
	f := m.finder(share.Auto)
	m.qemu(100, 1, 1, "vm")
	slice := filepath.Join(m.cgs, "machine.slice")
	start := func(n int) {
		m.remove(slice)
		scope := filepath.Join(slice, fmt.Sprintf("machine-qemu\\x2d%d\\x2dvm.scope", n))
		m.write(filepath.Join(scope, "cpu.stat"), "usage_usec 7\n")
		m.write(filepath.Join(scope, "cgroup.procs"), "100\n")
	}
	start(1)
	first := instance(f)
	if again := instance(f); again != first {
		t.Error("another instance of the same")
	}
	start(2)
	if second := instance(f); second == first {
		t.Error("the same instance of another")
	}
}

// TestCgroupVanishes: CPU times that can't be read are counted, and other guests are found.
func TestCgroupVanishes(t *testing.T) {
	m := newMachine(t)
	file := map[string]string{}
	for i, name := range []string{"a", "b", "c"} {
		scope := filepath.Join(m.cgs, "machine.slice", fmt.Sprintf("machine-qemu\\x2d%d\\x2d%s.scope", i, name))
		file[name] = filepath.Join(scope, "cpu.stat")
		m.write(file[name], "usage_usec 7\n")
		m.write(filepath.Join(scope, "cgroup.procs"), fmt.Sprint(100+i, "\n"))
		m.qemu(100+i, 1, 1, name)
	}
	f := m.finder(share.ByCgroup)
	expect(t, f, "a 7µs 2", "b 7µs 2", "c 7µs 2")
	m.remove(file["a"])
	m.write(file["b"], "usage_usec -1\n")
	expect(t, f, "c 7µs 2")
	expectRefused(t, f, map[string]uint64{"gone": 1, "malformed": 1})
	m.remove(m.cgs)
	if _, err := f.GuestsTo(nil); err == nil {
		t.Error("without control groups")
	}
}

// TestCgroupLeftBehind: a group of a guest's name without a process is no guest, and does not keep
// guests that are processes from being found.
func TestCgroupLeftBehind(t *testing.T) {
	m := newMachine(t)
	scope := filepath.Join(m.cgs, "machine.slice/machine-qemu\\x2d3\\x2dvm.scope")
	m.write(filepath.Join(scope, "cpu.stat"), "usage_usec 1500000\n")
	m.write(filepath.Join(scope, "cgroup.events"), "populated 0\nfrozen 0\n")
	m.qemu(100, 150, 7000, "other")
	f := m.finder(share.Auto)
	for range 30 {
		expect(t, f, "other 3s 2")
	}
	expectRefused(t, f, map[string]uint64{"gone": 30})
	m.qemu(200, 5, 8000, "vm")
	m.write(filepath.Join(scope, "cgroup.procs"), "200\n")
	m.write(filepath.Join(scope, "cgroup.events"), "populated 1\nfrozen 0\n")
	eventually(t, f, "vm 1.5s 2")
}

func TestFinderConfig(t *testing.T) {
	for _, mode := range []share.Mode{share.Auto, share.ByCgroup, share.ByProcess} {
		if _, err := share.NewFinder(share.FinderConfig{Mode: mode}); err != nil {
			t.Error(mode, err)
		}
	}
	var name *field.Error
	if _, err := share.NewFinder(share.FinderConfig{Mode: "libvirt"}); !errors.As(err, &name) || name.Field != "Mode" {
		t.Error(err)
	}
}

// TestRealProcesses: guests that are processes of this machine have their CPU time, and disappear
// when they end.
func TestRealProcesses(t *testing.T) {
	f, err := share.NewFinder(share.FinderConfig{Mode: share.ByProcess})
	if err != nil {
		t.Fatal(err)
	}
	own := fmt.Sprintf("share-test-%d-", os.Getpid()) // others test beside us
	var started []*fakerapl.Guest
	for i, name := range []string{"a", "b", "../c"} {
		g, err := fakerapl.StartGuest(t.Context(), own+name, i+1)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(g.Stop)
		started = append(started, g)
	}
	if err := started[0].Set(1); err != nil {
		t.Fatal(err)
	}
	find := func(until func(map[string]share.Guest) bool) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			all, err := f.GuestsTo(nil)
			if err != nil {
				t.Fatal(err)
			}
			found := map[string]share.Guest{}
			for _, g := range all {
				if name, ok := strings.CutPrefix(g.Name, own); ok {
					found[name] = g
				}
			}
			if until(found) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatal("found are", found)
			}
		}
	}
	find(func(found map[string]share.Guest) bool {
		return slices.Equal(slices.Sorted(maps.Keys(found)), []string{"a", "b"}) && found["a"].VCPUs == 1 && found["b"].VCPUs == 2 &&
			found["a"].CPU >= 200*time.Millisecond && found["b"].CPU < found["a"].CPU
	})
	if f.Refused()["name"] == 0 {
		t.Error("a name that leads elsewhere was not refused")
	}
	started[0].Stop()
	find(func(found map[string]share.Guest) bool {
		return slices.Equal(slices.Sorted(maps.Keys(found)), []string{"b"})
	})
}
