package share

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/spazio-scheduler/spazio/energy/source"
	"github.com/spazio-scheduler/spazio/field"
)

// counterRange is where published counters go on at 0, in µJ: that of most of Intel's processors,
// so that a reader that knows no other is right.
const counterRange = 262143328850

// tree publishes counters below a directory, for each guest
//
//	NAME/class/powercap/intel-rapl:0/{name,max_energy_range_uj,energy_uj}
//
// and of a zone within it the same at intel-rapl:0:0. A file is written anew, its
// modification time is set to when its energy was sampled, and a rename puts it in place: a
// reader that opens it has a whole value and its time. Counters go on from the files that
// are there, and at 0 after counterRange, as hardware's do.
//
// What a guest may have put where it can write is not followed: neither links nor pipes.
// A tree is for one goroutine, and one process publishes below a directory at a time.
type tree struct {
	root   *os.Root
	lock   io.Closer
	warn   error
	zones  []treeZone
	guests map[string]*treeGuest
	text   []byte
}

// treeZone is a zone of all guests: where it is below NAME/class/powercap, and its name.
type treeZone struct{ dir, name string }

// treeGuest is a guest that was published.
type treeGuest struct {
	at    time.Time // of the last publication
	made  bool      // its directory was not there before
	zones []guestZone
}

// guestZone is a counter, in whole µJ and the fraction that is not shown yet.
type guestZone struct {
	dir      *os.File // nil until it is open
	loaded   bool     // counter goes on from what was there
	counter  uint64
	fraction float64
}

// newTree returns a tree below a directory, which is made if it is not there, with the zone of
// the package alone; see showMemory. The error is ErrLocked or the file system's.
func newTree(dir string) (*tree, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("share: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("share: %w", err)
	}
	lock, err := lockDir(dir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("share: %s: %w", dir, err), root.Close())
	}
	t := &tree{root: root, lock: lock, zones: allZones[:1:1], guests: map[string]*treeGuest{}}
	if !inMemory(dir) {
		t.warn = &field.Error{Package: "energy", Field: "Dir", Value: dir, Err: errNotTmpfs}
	}
	return t, nil
}

// allZones are those of a tree that shows memory apart, within the package.
var allZones = []treeZone{{"intel-rapl:0", "package-0"}, {"intel-rapl:0:0", "dram"}}

// showMemory adds the zone of memory to those that all guests have.
func (t *tree) showMemory() error {
	t.zones = allZones
	var errs []error
	for _, g := range t.guests {
		errs = append(errs, g.close())
		g.zones = append(g.zones, make([]guestZone, len(t.zones)-len(g.zones))...)
	}
	return errors.Join(errs...)
}

// warning is an *field.Error that wraps errNotTmpfs where the tree is on a disk, or
// nil.
func (t *tree) warning() error { return t.warn }

// Close frees the directory for others. Files stay, for a tree to go on from.
func (t *tree) Close() error {
	var errs []error
	for _, g := range t.guests {
		errs = append(errs, g.close())
	}
	return errors.Join(append(errs, t.root.Close(), t.lock.Close())...)
}

// published are the names of those that have a tree, sorted, also of what another process has
// left.
func (t *tree) published() ([]string, error) {
	entries, err := fs.ReadDir(t.root.FS(), ".")
	if err != nil {
		return nil, fmt.Errorf("share: %w", err)
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() || checkName(e.Name()) != nil {
			continue
		}
		if about, err := t.root.Lstat(e.Name() + "/class"); err == nil && about.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// publish adds what a guest has taken to its counters, in joules by zone, and shows them as
// of a time, which has to be later than that of the publication before. What is no such
// argument is an *field.Error or wraps errName or errTooMany, and changes nothing. Of
// any other error the joules are kept, for the next publication to show.
func (t *tree) publish(at time.Time, guest string, joules []float64) error {
	if err := checkName(guest); err != nil {
		return err
	}
	if len(joules) != len(t.zones) {
		return refuse("len(joules)", len(joules), "that of the zones")
	}
	for i, j := range joules {
		if !(j >= 0 && j < counterRange*1e-6) {
			return refuse("joules["+strconv.Itoa(i)+"]", j, "an energy below the counter's range")
		}
	}
	g := t.guests[guest]
	if g == nil {
		if len(t.guests) >= maxGuests {
			return &field.Error{Package: "energy", Field: "guest", Value: guest, Err: errTooMany}
		}
		g = &treeGuest{zones: make([]guestZone, len(t.zones))}
		t.guests[guest] = g
	}
	if !at.After(g.at) {
		return refuse("at", at, "later than the last publication")
	}
	g.at = at
	for i := range g.zones {
		g.zones[i].add(joules[i])
	}
	if err := t.show(g, guest); err != nil {
		return fmt.Errorf("share: %s: %w", guest, errors.Join(err, g.close()))
	}
	return nil
}

// add counts whole µJ and keeps the rest.
func (z *guestZone) add(joules float64) {
	micro, fraction := math.Modf(joules*1e6 + z.fraction)
	z.counter, z.fraction = (z.counter+uint64(micro))%counterRange, fraction
}

// show writes the counters of a guest.
func (t *tree) show(g *treeGuest, guest string) error {
	if err := t.open(g, guest); err != nil {
		return err
	}
	for i := range g.zones {
		z := &g.zones[i]
		t.text = append(strconv.AppendUint(t.text[:0], z.counter, 10), '\n')
		if err := replace(z.dir, energyFile, t.text, g.at); err != nil {
			return err
		}
	}
	return nil
}

const (
	energyFile = "energy_uj"
	rangeFile  = "max_energy_range_uj"
	nameFile   = "name"
	powercap   = "class/powercap"
)

// open makes the directories of a guest that are not there, and has counters that are at
// their beginning go on from what is.
func (t *tree) open(g *treeGuest, guest string) (err error) {
	if g.zones[0].dir != nil {
		return nil
	}
	switch err := t.root.Mkdir(guest, 0o755); {
	case err == nil:
		g.made = true
	case !errors.Is(err, fs.ErrExist):
		return err
	}
	own, err := t.root.OpenRoot(guest) // beyond which no link of the guest's leads
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, own.Close()) }()
	if err := mkdirAll(own, powercap); err != nil {
		return err
	}
	if err := t.removeOthers(own); err != nil {
		return err
	}
	for i, zone := range t.zones {
		if err := openZone(own, zone, &g.zones[i]); err != nil {
			return err
		}
	}
	return nil
}

// openZone opens a zone's directory, and writes what does not change in it.
func openZone(own *os.Root, zone treeZone, z *guestZone) (err error) {
	at := powercap + "/" + zone.dir
	if err := mkdirAll(own, at); err != nil {
		return err
	}
	if z.dir, err = openDir(own, at); err != nil {
		return err
	}
	if !z.loaded {
		z.counter, z.loaded = (z.counter+storedCounter(z.dir))%counterRange, true
	}
	return errors.Join(
		replace(z.dir, nameFile, []byte(zone.name+"\n"), time.Time{}),
		replace(z.dir, rangeFile, []byte(strconv.FormatInt(counterRange, 10)+"\n"), time.Time{}),
	)
}

// removeOthers removes zones that are not the tree's, as those of a machine that had memory
// counters: nothing would be published there any more, and a reader wants all zones of one
// time.
func (t *tree) removeOthers(own *os.Root) error {
	names, err := list(own, powercap)
	if err != nil {
		return err
	}
	for _, name := range names {
		if slices.ContainsFunc(t.zones, func(z treeZone) bool { return z.dir == name }) {
			continue
		}
		if err := removeZone(own, powercap+"/"+name); err != nil {
			return err
		}
	}
	return nil
}

// forget takes a guest's tree away, and its directory if that was not there before the
// tree. A guest without one is no error.
func (t *tree) forget(guest string) error {
	if err := checkName(guest); err != nil {
		return err
	}
	g := t.guests[guest]
	if g != nil {
		delete(t.guests, guest)
		if err := g.close(); err != nil {
			return fmt.Errorf("share: %s: %w", guest, err)
		}
	}
	if err := t.remove(guest); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("share: %s: %w", guest, err)
	}
	if g == nil || !g.made {
		return nil
	}
	if err := t.root.Remove(guest); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("share: %w", err)
	}
	return nil
}

func (t *tree) remove(guest string) (err error) {
	own, err := t.root.OpenRoot(guest)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, own.Close()) }()
	names, err := list(own, powercap)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := removeZone(own, powercap+"/"+name); err != nil {
			return err
		}
	}
	return errors.Join(own.Remove(powercap), own.Remove("class"))
}

// removeZone removes a zone's directory, or what a guest has put in the place of one.
func removeZone(own *os.Root, dir string) error {
	for _, name := range []string{energyFile, temporary(energyFile), nameFile, temporary(nameFile), rangeFile, temporary(rangeFile)} {
		if err := own.Remove(dir + "/" + name); err != nil && !errors.Is(err, fs.ErrNotExist) && !isNoDir(err) {
			return err
		}
	}
	return own.Remove(dir)
}

func (g *treeGuest) close() error {
	var errs []error
	for i := range g.zones {
		if z := &g.zones[i]; z.dir != nil {
			errs = append(errs, z.dir.Close())
			z.dir = nil
		}
	}
	return errors.Join(errs...)
}

// mkdirAll makes a directory within a root and those above it.
func mkdirAll(root *os.Root, dir string) error {
	for i := range len(dir) + 1 {
		if i < len(dir) && dir[i] != '/' {
			continue
		}
		if err := root.Mkdir(dir[:i], 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// temporary is what a file is called until it is whole.
func temporary(name string) string { return "." + name }

// list are the names in a directory within a root.
func list(root *os.Root, dir string) (names []string, err error) {
	f, err := openDir(root, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return f.Readdirnames(-1)
}

// replace writes a file of an open directory anew, of a modification time unless that is
// zero, and renames it into place.
func replace(dir *os.File, name string, text []byte, at time.Time) error {
	as := temporary(name)
	f, err := createIn(dir, as)
	if errors.Is(err, fs.ErrExist) { // a publication that was cut short, or the guest's
		if err = removeIn(dir, as); err == nil {
			f, err = createIn(dir, as)
		}
	}
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err == nil && !at.IsZero() {
		err = setModified(f, at)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return renameIn(dir, as, name)
}

// storedCounter returns what the file of a counter holds; one that is none, or beyond the range,
// counts as 0.
func storedCounter(dir *os.File) uint64 {
	f, err := openIn(dir, energyFile)
	if err != nil {
		return 0
	}
	defer f.Close()
	if about, err := f.Stat(); err != nil || !about.Mode().IsRegular() {
		return 0
	}
	const longest = 32
	text, err := io.ReadAll(io.LimitReader(f, longest))
	if err != nil {
		return 0
	}
	v, err := source.ParseCounter(text)
	if err != nil || v >= counterRange {
		return 0
	}
	return v
}
