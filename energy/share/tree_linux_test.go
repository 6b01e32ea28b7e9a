package share_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/procfs/sysfs"

	"github.com/spazio-scheduler/spazio/energy"
	"github.com/spazio-scheduler/spazio/energy/share"
	"github.com/spazio-scheduler/spazio/field"
)

var start = time.Date(2026, 11, 23, 4, 0, 0, 0, time.UTC)

func after(seconds float64) time.Time {
	return start.Add(time.Duration(seconds * float64(time.Second)))
}

func newTree(t *testing.T, dir string, memory bool) *share.Tree {
	t.Helper()
	tree, err := share.NewTree(dir, memory)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tree.Close() }) // which a test may have done
	return tree
}

func publish(t *testing.T, tree *share.Tree, at time.Time, guest string, joules ...float64) {
	t.Helper()
	if err := tree.Publish(at, guest, joules); err != nil {
		t.Fatal(err)
	}
}

// zone is a counter as procfs reads it, with the time of its file.
type zone struct {
	Name       string
	Index      int
	Max, Micro uint64
	At         time.Time
}

// readRAPL reads RAPL as node_exporter and Kepler do.
func readRAPL(sys string) ([]zone, error) {
	files, err := sysfs.NewFS(sys)
	if err != nil {
		return nil, err
	}
	found, err := sysfs.GetRaplZones(files)
	if err != nil {
		return nil, err
	}
	var zones []zone
	for _, z := range found {
		micro, err := z.GetEnergyMicrojoules()
		if err != nil {
			return nil, err
		}
		about, err := os.Stat(filepath.Join(z.Path, "energy_uj"))
		if err != nil {
			return nil, err
		}
		zones = append(zones, zone{z.Name, z.Index, z.MaxMicrojoules, micro, about.ModTime().UTC()})
	}
	return zones, nil
}

func mustRead(t *testing.T, sys string) []zone {
	t.Helper()
	zones, err := readRAPL(sys)
	if err != nil {
		t.Fatal(err)
	}
	return zones
}

// TestTree: Prometheus' reader of RAPL reads a guest's tree, with the time of the sample.
func TestTree(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run", "power")
	tree := newTree(t, dir, true)
	publish(t, tree, after(1.5), "vm1", 1.25, .5)
	publish(t, tree, after(2.5), "vm1", 2, .25)
	publish(t, tree, after(2.5), "vm2", 0, 0)
	want := []zone{{"package", 0, 262143328850, 3250000, after(2.5)}, {"dram", 0, 262143328850, 750000, after(2.5)}}
	if d := cmp.Diff(want, mustRead(t, filepath.Join(dir, "vm1"))); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]uint64{0, 0}, micro(mustRead(t, filepath.Join(dir, "vm2")))); d != "" {
		t.Error(d)
	}
	if names, err := tree.Guests(); err != nil || !slices.Equal(names, []string{"vm1", "vm2"}) {
		t.Error(names, err)
	}
	for name, mode := range map[string]os.FileMode{".": 0o755, "class/powercap/intel-rapl:0:0": 0o755, "class/powercap/intel-rapl:0/energy_uj": 0o644} {
		about, err := os.Stat(filepath.Join(dir, "vm1", name))
		if err != nil || about.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, about.Mode(), err)
		}
	}
}

func micro(zones []zone) (all []uint64) {
	for _, z := range zones {
		all = append(all, z.Micro)
	}
	return all
}

// TestTreeZones: a package and its memory are numbered as the kernel does.
func TestTreeZones(t *testing.T) {
	dir := t.TempDir()
	tree := newTree(t, dir, true)
	publish(t, tree, start, "vm", 1, 2)
	got := map[string]string{}
	for _, sub := range []string{":0", ":0:0"} {
		at := filepath.Join(dir, "vm/class/powercap/intel-rapl"+sub)
		got[sub] = text(t, filepath.Join(at, "name")) + text(t, filepath.Join(at, "energy_uj"))
	}
	want := map[string]string{":0": "package-0\n1000000\n", ":0:0": "dram\n2000000\n"}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestTreeCounter: the file of a guest's counter holds whole µJ, and has the time of the last sample;
// a name that leads out of the directory is refused.
func TestTreeCounter(t *testing.T) {
	dir := t.TempDir()
	tree := newTree(t, dir, true)
	publish(t, tree, after(0), "web-1", 12.5, 1.25)
	publish(t, tree, after(1), "web-1", 12.5, 1.25)
	if err := tree.Publish(after(1), "../etc", []float64{1, 1}); !errors.Is(err, share.ErrName) {
		t.Errorf("a name outside of the directory: %v", err)
	}
	counter := filepath.Join(dir, "web-1/class/powercap/intel-rapl:0/energy_uj")
	text, err := os.ReadFile(counter)
	if string(text) != "25000000\n" || err != nil {
		t.Errorf("the counter holds %q, %v", text, err)
	}
	about, err := os.Stat(counter)
	if err != nil {
		t.Fatal(err)
	}
	if !about.ModTime().Equal(after(1)) {
		t.Errorf("the counter is of %v, want %v", about.ModTime(), after(1))
	}
}

// TestTreeWraps: a counter wraps at 0 like hardware's, so that a meter loses nothing; parts of a µJ
// are not lost either.
func TestTreeWraps(t *testing.T) {
	dir := t.TempDir()
	tree := newTree(t, dir, false)
	meter, err := energy.NewMeter(energy.MeterConfig{MaxWatts: 1e5})
	if err != nil {
		t.Fatal(err)
	}
	const joules, n = 99999.1234567, 12 // 1.2 MJ: four times the range
	var measured float64
	wrapped := 0
	var last uint64
	for i := range n {
		publish(t, tree, after(float64(i)), "vm", joules)
		z := mustRead(t, filepath.Join(dir, "vm"))[0]
		if z.Micro >= z.Max {
			t.Fatalf("%d of a range of %d", z.Micro, z.Max)
		}
		if z.Micro < last {
			wrapped++
		}
		last = z.Micro
		in, err := meter.Add([]energy.Reading{{Zone: "package-0", Counter: z.Micro, Range: z.Max, At: z.At}})
		if err != nil && i > 0 {
			t.Fatal(err)
		}
		measured += in.Joules
	}
	if want := joules * (n - 1); math.Abs(measured-want) > 2e-6 || wrapped != 4 {
		t.Errorf("%.7f J by the counter, %.7f published, %d wraps", measured, want, wrapped)
	}
}

// TestTreeGoesOn: a tree continues from another process's counter, or from 0 if that is invalid.
func TestTreeGoesOn(t *testing.T) {
	for left, want := range map[string]uint64{
		"5\n": 1000005, "7": 1000007, "262143328849\n": 999999,
		"": 1000000, "-5\n": 1000000, "0x10\n": 1000000, "262143328850\n": 1000000, "1 2\n": 1000000, "18446744073709551616\n": 1000000,
		strings.Repeat("1", 1<<20): 1000000,
	} {
		dir := t.TempDir()
		first := newTree(t, dir, true)
		publish(t, first, after(1), "vm", 3, 4)
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		counter := filepath.Join(dir, "vm/class/powercap/intel-rapl:0/energy_uj")
		if err := os.WriteFile(counter, []byte(left), 0o644); err != nil {
			t.Fatal(err)
		}
		second := newTree(t, dir, true)
		if names, err := second.Guests(); err != nil || !slices.Equal(names, []string{"vm"}) {
			t.Error(names, err)
		}
		publish(t, second, after(5), "vm", 1, 1)
		if d := cmp.Diff([]uint64{want, 5000000}, micro(mustRead(t, filepath.Join(dir, "vm")))); d != "" {
			t.Errorf("%.30q: %s", left, d)
		}
	}
}

// TestTreeAfterFailure: the remains of an interrupted publication do no harm, and a value that
// could not be published is published later, once.
func TestTreeAfterFailure(t *testing.T) {
	dir := t.TempDir()
	tree := newTree(t, dir, false)
	publish(t, tree, after(1), "vm", 3)
	temporary := filepath.Join(dir, "vm/class/powercap/intel-rapl:0/.energy_uj")
	if err := os.WriteFile(temporary, []byte("1"), 0o600); err != nil {
		t.Fatal(err)
	}
	publish(t, tree, after(2), "vm", 4)
	if err := os.Mkdir(temporary, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := tree.Publish(after(3), "vm", []float64{5}); err == nil {
		t.Error("no error of a directory in the way")
	}
	if err := os.Remove(temporary); err != nil {
		t.Fatal(err)
	}
	publish(t, tree, after(4), "vm", 6)
	if d := cmp.Diff([]zone{{"package", 0, share.Range, 18000000, after(4)}}, mustRead(t, filepath.Join(dir, "vm"))); d != "" {
		t.Error(d)
	}
}

// TestTreeForgetsMemory: zones that are no longer published are removed, because they would keep
// readers from the others.
func TestTreeForgetsMemory(t *testing.T) {
	dir := t.TempDir()
	first := newTree(t, dir, true)
	publish(t, first, after(1), "vm", 3, 4)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	publish(t, newTree(t, dir, false), after(2), "vm", 1)
	if d := cmp.Diff([]zone{{"package", 0, share.Range, 4000000, after(2)}}, mustRead(t, filepath.Join(dir, "vm"))); d != "" {
		t.Error(d)
	}
}

// TestTreeRefuses: an invalid publication is refused, and the tree stays.
func TestTreeRefuses(t *testing.T) {
	dir := t.TempDir()
	inside := filepath.Join(dir, "power")
	tree := newTree(t, inside, true)
	publish(t, tree, after(1), "vm", 1, 1)
	before := files(t, dir)
	for _, c := range []struct {
		at     float64
		guest  string
		joules []float64
		err    error
	}{
		{2, "", []float64{1, 1}, share.ErrName},
		{2, ".", []float64{1, 1}, share.ErrName},
		{2, "..", []float64{1, 1}, share.ErrName},
		{2, "../x", []float64{1, 1}, share.ErrName},
		{2, "/etc", []float64{1, 1}, share.ErrName},
		{2, "a/b", []float64{1, 1}, share.ErrName},
		{2, "a\x00b", []float64{1, 1}, share.ErrName},
		{2, strings.Repeat("x", 129), []float64{1, 1}, share.ErrName},
		{2, "vm", []float64{1}, energy.ErrInvalid},
		{2, "vm", []float64{1, 1, 1}, energy.ErrInvalid},
		{2, "vm", []float64{-1, 1}, energy.ErrInvalid},
		{2, "vm", []float64{1, math.NaN()}, energy.ErrInvalid},
		{2, "vm", []float64{math.Inf(1), 1}, energy.ErrInvalid},
		{2, "vm", []float64{1, 262144}, energy.ErrInvalid},
		{1, "vm", []float64{1, 1}, energy.ErrInvalid},
		{.5, "vm", []float64{1, 1}, energy.ErrInvalid},
	} {
		var name *field.Error
		if err := tree.Publish(after(c.at), c.guest, c.joules); !errors.Is(err, c.err) || !errors.As(err, &name) {
			t.Errorf("%v: %v", c, err)
		}
		if err := share.CheckName(c.guest); errors.Is(c.err, share.ErrName) {
			if removed := tree.Remove(c.guest); err == nil || !errors.Is(removed, share.ErrName) {
				t.Errorf("%q: %v, %v", c.guest, err, removed)
			}
		}
	}
	if d := cmp.Diff(before, files(t, dir)); d != "" {
		t.Error(d)
	}
	publish(t, tree, after(2), "vm", 1, 1)
	if d := cmp.Diff([]uint64{2000000, 2000000}, micro(mustRead(t, filepath.Join(inside, "vm")))); d != "" {
		t.Error(d)
	}
}

// files returns the contents of all files below a directory, by their paths; the mode of other
// entries.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		about, err := e.Info()
		if err != nil {
			return err
		}
		all[path] = about.Mode().String()
		if about.Mode().IsRegular() {
			all[path] += about.ModTime().String() + text(t, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestTreeBounds: guests beyond the bound are refused, until one is gone.
func TestTreeBounds(t *testing.T) {
	dir := t.TempDir()
	tree := newTree(t, dir, false)
	for i := range share.MaxGuests {
		publish(t, tree, after(1), fmt.Sprint("vm", i), 1)
	}
	for i := range 10000 {
		if err := tree.Publish(after(1), fmt.Sprint("hostile", i), []float64{1}); !errors.Is(err, share.ErrTooMany) {
			t.Fatal(err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != share.MaxGuests {
		t.Error(len(entries), err)
	}
	publish(t, tree, after(2), "vm7", 1)
	if err := tree.Remove("vm7"); err != nil {
		t.Fatal(err)
	}
	publish(t, tree, after(2), "hostile", 1)
}

// TestTreeRemoves: the tree removes what it has made, and leaves a directory that was there before.
func TestTreeRemoves(t *testing.T) {
	dir := t.TempDir()
	tree := newTree(t, dir, true)
	if err := os.Mkdir(filepath.Join(dir, "theirs"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, guest := range []string{"ours", "theirs"} {
		publish(t, tree, after(1), guest, 1, 1)
		if err := tree.Remove(guest); err != nil {
			t.Fatal(err)
		}
		if err := tree.Remove(guest); err != nil {
			t.Error("again:", err)
		}
	}
	var left []string
	for path := range files(t, dir) {
		left = append(left, strings.TrimPrefix(path, dir))
	}
	slices.Sort(left)
	if d := cmp.Diff([]string{"", "/theirs"}, left); d != "" {
		t.Error(d)
	}
	publish(t, tree, after(2), "theirs", 2, 2)
	if got := micro(mustRead(t, filepath.Join(dir, "theirs")))[0]; got != 2000000 {
		t.Error("a guest that is back begins at", got)
	}
	// A tree whose directory was removed from outside is published anew, with all its energy.
	if err := os.RemoveAll(filepath.Join(dir, "theirs")); err != nil {
		t.Fatal(err)
	}
	if err := tree.Publish(after(3), "theirs", []float64{1, 1}); err == nil {
		t.Error("published into a directory that is gone")
	}
	publish(t, tree, after(4), "theirs", 1, 1)
	if got := micro(mustRead(t, filepath.Join(dir, "theirs")))[0]; got != 4000000 {
		t.Error("back are", got)
	}
}

// TestTreeOneWriter: a second process would count twice.
func TestTreeOneWriter(t *testing.T) {
	dir := t.TempDir()
	first := newTree(t, dir, false)
	if _, err := share.NewTree(dir, true); !errors.Is(err, share.ErrLocked) {
		t.Error(err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	newTree(t, dir, true)
}

// TestTreeWarns: the log has a warning if stat(1) does not report tmpfs.
func TestTreeWarns(t *testing.T) {
	for _, dir := range []string{t.TempDir(), "/dev/shm"} {
		kind, err := exec.CommandContext(t.Context(), "stat", "-f", "-c", "%T", dir).Output()
		if err != nil {
			t.Log(dir, err)
			continue
		}
		if dir == "/dev/shm" {
			if dir, err = os.MkdirTemp(dir, "spazio-share-"); err != nil { //nolint:usetesting // on tmpfs
				t.Log(err)
				continue
			}
			defer os.RemoveAll(dir)
		}
		warning := newTree(t, dir, false).Warning()
		if quiet := strings.HasPrefix(string(kind), "tmpfs") || strings.HasPrefix(string(kind), "ramfs"); errors.Is(warning, share.ErrNotTmpfs) == quiet {
			t.Errorf("%s on %s: %v", dir, kind, warning)
		}
	}
}

// TestTreeOfHostileGuest: entries that a guest with a writable share has made lead nowhere and
// delay no other tree.
func TestTreeOfHostileGuest(t *testing.T) {
	const rapl = "class/powercap/intel-rapl:0"
	for name, plant := range map[string]func(own string) error{
		"class leads out": func(own string) error { return os.Symlink("../../outside", filepath.Join(own, "class")) },
		"class leads out by root": func(own string) error {
			return os.Symlink(filepath.Join(own, "../../outside"), filepath.Join(own, "class"))
		},
		"class leads to another": func(own string) error { return os.Symlink("../other/class", filepath.Join(own, "class")) },
		"zone leads to another": func(own string) error {
			return errors.Join(os.MkdirAll(filepath.Join(own, "class/powercap"), 0o755),
				os.Symlink("../../../other/class/powercap/intel-rapl:0", filepath.Join(own, rapl)))
		},
		"counter leads out": func(own string) error {
			return errors.Join(os.MkdirAll(filepath.Join(own, rapl), 0o755), os.Symlink("../../../../../outside/file", filepath.Join(own, rapl, "energy_uj")))
		},
		"counter leads to another's": func(own string) error {
			return errors.Join(os.MkdirAll(filepath.Join(own, rapl), 0o755), os.Symlink(filepath.Join("../../../../other", rapl, "energy_uj"), filepath.Join(own, rapl, "energy_uj")))
		},
		"temporary leads out": func(own string) error {
			return errors.Join(os.MkdirAll(filepath.Join(own, rapl), 0o755), os.Symlink("../../../../../outside/file", filepath.Join(own, rapl, ".energy_uj")))
		},
		"class is a pipe": func(own string) error { return syscall.Mkfifo(filepath.Join(own, "class"), 0o666) },
		"zone is a pipe": func(own string) error {
			return errors.Join(os.MkdirAll(filepath.Join(own, "class/powercap"), 0o755), syscall.Mkfifo(filepath.Join(own, rapl), 0o666))
		},
		"counter is a pipe": func(own string) error {
			return errors.Join(os.MkdirAll(filepath.Join(own, rapl), 0o755), syscall.Mkfifo(filepath.Join(own, rapl, "energy_uj"), 0o666))
		},
		"temporary is a pipe": func(own string) error {
			return errors.Join(os.MkdirAll(filepath.Join(own, rapl), 0o755), syscall.Mkfifo(filepath.Join(own, rapl, ".energy_uj"), 0o666))
		},
		"counter is a directory": func(own string) error { return os.MkdirAll(filepath.Join(own, rapl, "energy_uj/x"), 0o755) },
		"zones besides":          func(own string) error { return os.MkdirAll(filepath.Join(own, "class/powercap/intel-rapl:7/x"), 0o755) },
		"class is a file":        func(own string) error { return os.WriteFile(filepath.Join(own, "class"), nil, 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			dir, outside := filepath.Join(root, "power"), filepath.Join(root, "outside")
			tree := newTree(t, dir, false)
			if err := errors.Join(os.Mkdir(outside, 0o755), os.Mkdir(filepath.Join(dir, "evil"), 0o777),
				os.WriteFile(filepath.Join(outside, "file"), []byte("precious"), 0o644)); err != nil {
				t.Fatal(err)
			}
			publish(t, tree, after(1), "other", 1)
			if err := plant(filepath.Join(dir, "evil")); err != nil {
				t.Fatal(err)
			}
			before := files(t, outside)
			err := tree.Publish(after(1), "evil", []float64{3})
			again := tree.Publish(after(2), "evil", []float64{4})
			publish(t, tree, after(2), "other", 1)
			if d := cmp.Diff(before, files(t, outside)); d != "" {
				t.Error("written outside:", d)
			}
			if d := cmp.Diff([]zone{{"package", 0, share.Range, 2000000, after(2)}}, mustRead(t, filepath.Join(dir, "other"))); d != "" {
				t.Error("another guest:", d)
			}
			if again == nil { // the guest has no harm of it
				if d := cmp.Diff([]zone{{"package", 0, share.Range, 7000000, after(2)}}, mustRead(t, filepath.Join(dir, "evil"))); d != "" {
					t.Error(err, d)
				}
			}
			removed := tree.Remove("evil")
			if d := cmp.Diff(before, files(t, outside)); d != "" {
				t.Error("removed outside:", removed, d)
			}
			if d := cmp.Diff([]uint64{2000000}, micro(mustRead(t, filepath.Join(dir, "other")))); d != "" {
				t.Error("another guest:", d)
			}
		})
	}
}

// TestTreeUnderFire: during constant publication, readers see whole counters that never fall.
func TestTreeUnderFire(t *testing.T) {
	reads := int64(1e5)
	if testing.Short() {
		reads = 1e4
	}
	dir := memory(t)
	tree := newTree(t, dir, true)
	guests := []string{"vm1", "vm2", "vm3", "vm4"}
	for _, guest := range guests {
		publish(t, tree, start, guest, 0, 0)
	}
	var done atomic.Int64
	var readers sync.WaitGroup
	for _, guest := range guests {
		readers.Add(1)
		go func() {
			defer readers.Done()
			last := [2]zone{}
			for done.Load() < reads && !t.Failed() {
				zones, err := readRAPL(filepath.Join(dir, guest))
				if err != nil || len(zones) != 2 {
					t.Errorf("%s: %v, %v", guest, zones, err)
					return
				}
				for i, z := range zones {
					name := []string{"package", "dram"}[i]
					if z.Micro < last[i].Micro || z.At.Before(last[i].At) || z.Max != share.Range || z.Name != name {
						t.Errorf("%s: %+v after %+v", guest, z, last[i])
					}
					last[i] = z
					done.Add(1)
				}
			}
		}()
	}
	finished := make(chan struct{})
	go func() { readers.Wait(); close(finished) }()
	published := 0
	for running := true; running; published++ {
		for _, guest := range guests {
			publish(t, tree, after(float64(published+1)), guest, 1e-3, 1e-4)
		}
		select {
		case <-finished:
			running = false
		default:
		}
	}
	for _, guest := range guests {
		if d := cmp.Diff([]uint64{uint64(published) * 1000, uint64(published) * 100}, micro(mustRead(t, filepath.Join(dir, guest)))); d != "" {
			t.Error(d)
		}
	}
	t.Logf("%d counters read, %d times published", done.Load(), published)
}

// memory is a directory on tmpfs where there is one.
func memory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "spazio-share-") //nolint:usetesting // on tmpfs
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

var digits = regexp.MustCompile(`\A[0-9]{1,20}\n?\z`)

// FuzzTreeGoesOn: from any contents of a counter's file, a tree continues if it is a counter below
// the range, and else starts at 0.
func FuzzTreeGoesOn(f *testing.F) {
	for _, s := range []string{"0\n", "12", "262143328849\n", "262143328850\n", "-1", "", "\x00", "007\n", "1\n\n"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, left []byte) {
		dir := t.TempDir()
		at := filepath.Join(dir, "vm/class/powercap/intel-rapl:0")
		if err := errors.Join(os.MkdirAll(at, 0o755), os.WriteFile(filepath.Join(at, "energy_uj"), left, 0o644)); err != nil {
			t.Fatal(err)
		}
		want := new(big.Int)
		if digits.Match(left) {
			want.SetString(strings.TrimSuffix(string(left), "\n"), 10)
		}
		if want.Cmp(big.NewInt(share.Range)) >= 0 {
			want.SetInt64(0)
		}
		publish(t, newTree(t, dir, false), after(1), "vm", 0)
		if got := text(t, filepath.Join(at, "energy_uj")); got != strconv.FormatUint(want.Uint64(), 10)+"\n" {
			t.Errorf("%q: goes on from %q, want %v", left, got, want)
		}
	})
}
