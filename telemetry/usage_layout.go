package telemetry

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The files that a cgroup's usage is read from, those of memory first.
const (
	memoryStat = iota
	memoryCurrent
	memoryPeak
	memoryEvents
	cpuStat
	cpuThrottle
	cpuPressure
	memoryPressure // read with those of the CPU: it sums up no statistics
	unifiedStat
	usageFiles
)

// The hierarchies of cgroup v1 that a file may be in, by preference.
var (
	inMemory  = []string{"memory"}
	inCpuacct = []string{"cpu,cpuacct", "cpuacct,cpu", "cpuacct"}
	inCPU     = []string{"cpu,cpuacct", "cpuacct,cpu", "cpu"}
	inUnified = []string{"unified"} // of the hybrid layout
)

// usageNames are what the files are called, empty where a version has none.
var usageNames = [usageFiles]struct {
	v2, v1      string
	hierarchies []string
}{
	memoryStat:     {"memory.stat", "memory.stat", inMemory},
	memoryCurrent:  {"memory.current", "memory.usage_in_bytes", inMemory},
	memoryPeak:     {"memory.peak", "memory.max_usage_in_bytes", inMemory},
	memoryEvents:   {"memory.events", "", nil},
	cpuStat:        {"cpu.stat", "cpuacct.usage", inCpuacct},
	cpuThrottle:    {"", "cpu.stat", inCPU},
	cpuPressure:    {"cpu.pressure", "cpu.pressure", inUnified},
	memoryPressure: {"memory.pressure", "memory.pressure", inUnified},
	unifiedStat:    {"", "cpu.stat", inUnified}, // beside the pressure
}

// usageFile is one of them: where the kubelet's tree is in its hierarchy and what
// the file is called. The name is empty where the layout has none.
type usageFile struct {
	top    *directory
	name   string
	needed bool
}

// path is that of a group's.
func (f *usageFile) path(group string) string { return filepath.Join(f.top.path, group, f.name) }

// usageLayout is where a kubelet's tree and the files of its cgroups are. On cgroup v1
// each controller may have a hierarchy of its own, in which the tree has the same
// path.
type usageLayout struct {
	v2 bool
	// top is the kubelet's directory in the hierarchy whose directories are listed.
	top   string
	files [usageFiles]usageFile
	// tops are those of the files, each once.
	tops []*directory
}

// close closes the directories, which are opened anew when a file of theirs is.
func (l *usageLayout) close() {
	for _, d := range l.tops {
		d.close()
	}
}

// set sets where a file is.
func (l *usageLayout) set(i int, top, name string) {
	at := slices.IndexFunc(l.tops, func(d *directory) bool { return d.path == top })
	if at < 0 {
		at, l.tops = len(l.tops), append(l.tops, &directory{path: top})
	}
	l.files[i] = usageFile{l.tops[at], name, i == memoryStat || i == cpuStat}
}

func newUsageLayout(root, hierarchy, tree string) usageLayout {
	l := usageLayout{v2: hierarchy == "", top: filepath.Join(root, hierarchy, tree)}
	for i, f := range usageNames {
		if l.v2 {
			l.set(i, l.top, f.v2)
			continue
		}
		for _, h := range f.hierarchies {
			if top := filepath.Join(root, h, tree); exists(top) {
				l.set(i, top, f.v1)
				break
			}
		}
	}
	return l
}

// classes are the directories of the tree that hold pods, relative to its top.
func (l *usageLayout) classes() []string {
	classes := []string{""}
	for _, name := range directories(l.top) {
		if isQoS(name) {
			classes = append(classes, name)
		}
	}
	return classes
}

// podDirectory is the name of the cgroup of a pod in the class: the inverse of podUID.
func (l *usageLayout) podDirectory(class, uid string) string {
	prefix, name := "", class
	if class == "" {
		name = filepath.Base(l.top)
	} else {
		prefix = class + "/"
	}
	if slice, systemd := strings.CutSuffix(name, ".slice"); systemd {
		return prefix + slice + "-pod" + strings.ReplaceAll(uid, "-", "_") + ".slice"
	}
	return prefix + "pod" + uid
}

// containerID is the ID in the name of a container's cgroup: <id> with the cgroupfs
// driver, <runtime>-<id>.scope with systemd's.
func containerID(name string) string {
	name = strings.TrimSuffix(name, ".scope")
	return name[strings.LastIndexByte(name, '-')+1:]
}

// directories are the names of those in dir, sorted; none if it is not there.
func directories(dir string) []string {
	entries, _ := os.ReadDir(dir)
	entries = slices.DeleteFunc(entries, func(e os.DirEntry) bool { return !e.IsDir() && e.Type()&os.ModeSymlink == 0 })
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}
