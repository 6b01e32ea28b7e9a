package telemetry

import (
	"cmp"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// CgroupConfig describes where CgroupPods looks. The zero value is the default.
type CgroupConfig struct {
	// Root is where the cgroups are mounted: cgroup v2 itself, or the directory
	// that holds the hierarchies of v1 and hybrid. Empty means /sys/fs/cgroup.
	Root string
	// ProcRoot is where proc is mounted; empty means /proc.
	ProcRoot string
	// Rescan is how often the whole tree is read again, in case an event was
	// lost; zero means 30 s.
	Rescan time.Duration
	// Gather is how long events wait for one another once churn was reported; zero
	// means 100 ms. The first one is reported as it comes.
	Gather time.Duration
	// Logger logs watches that cannot be set; nil means slog.Default.
	Logger *slog.Logger
}

const (
	defaultRescan = 30 * time.Second
	// defaultGather is the agent's least time from one report to the next.
	defaultGather = 100 * time.Millisecond
)

// validate returns a *FieldError for the first field out of range.
func (c CgroupConfig) validate() error {
	if c.Rescan < 0 {
		return NewFieldError("Rescan", c.Rescan, "negative")
	}
	if c.Gather < 0 {
		return NewFieldError("Gather", c.Gather, "negative")
	}
	return nil
}

func (c CgroupConfig) withDefaults() CgroupConfig {
	c.Root = cmp.Or(c.Root, defaultCgroupRoot)
	c.ProcRoot = cmp.Or(c.ProcRoot, defaultProcRoot)
	c.Rescan = cmp.Or(c.Rescan, defaultRescan)
	c.Gather = cmp.Or(c.Gather, defaultGather)
	c.Logger = cmp.Or(c.Logger, slog.Default())
	return c
}

// CgroupPods is the PodSource that watches the kubelet's cgroups with inotify,
// on cgroup v1, v2 and hybrid, for the cgroupfs and the systemd driver. A host
// without kubelet has no pods; it waits for the kubelet's directory to appear.
//
// A container is live when its cgroup holds a process that has left the runtime's
// start-up. Of the live containers of a pod at most one is its sandbox: one whose
// processes are all named pause (pod with CRI-O, as OpenShift has it), or, where
// process names cannot be read (another PID namespace), the first of them, except with CRI-O, which runs pods without a
// sandbox. A pod runs while it has a live container beyond its sandbox, and ends
// with its sandbox or, without one, with its cgroup. Cgroups do not distinguish init
// containers from others: [Pod].Starts does. What a pod holds is concluded from
// the tree and not from the order of events, and the whole tree is read again when
// the kernel lost some, so that lost or merged events cannot make the set drift.
//
// An event is reported as churn as it comes, before the directory that it names is
// read; those that follow while churn is known already are gathered. That and
// the search for the processes of starting containers, after 30, 90, 210 ms …
// and then once a second, make up the cost: waking up is dear, reading is not.
//
// Run may be called once; Health is safe for concurrent use.
type CgroupPods struct {
	config CgroupConfig
	// blind is why the source sees no pods, nil while it does.
	blind atomic.Pointer[error]
}

// ErrNoKubepods is the cause that CgroupPods.Health returns while the cgroups hold no directory
// of a kubelet's pods, which a kubelet makes as it starts.
var ErrNoKubepods = errors.New("no cgroup of the kubelet's pods")

// ErrUnseenPods is that no process has run in the cgroups of pods: they have yet to start,
// or their runtime keeps their containers elsewhere, as those with virtual machines may.
// What they take of the node is not known.
var ErrUnseenPods = errors.New("no process has run in the cgroup of a pod")

// Health returns an error that wraps ErrNoKubepods while Run finds no directory of
// the kubelet's, which is the case on a host without kubelet or with the wrong Root, and
// one that wraps ErrUnseenPods while no process has run in the cgroup of a pod for half a
// minute. It is nil before Run.
func (p *CgroupPods) Health() error {
	if err := p.blind.Load(); err != nil {
		return *err
	}
	return nil
}

func (p *CgroupPods) setHealth(err error) {
	if err == nil {
		p.blind.Store(nil)
		return
	}
	p.blind.Store(&err)
}

// NewCgroupPods returns a source over the tree of c. The error is a *FieldError,
// ErrPIDNamespace, or wraps ErrUnsupported where the system has no inotify, or
// os.ErrNotExist if the root is missing.
func NewCgroupPods(c CgroupConfig) (*CgroupPods, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	if !inotifySupported {
		return nil, ErrUnsupported
	}
	c = c.withDefaults()
	if _, err := os.ReadDir(c.Root); err != nil {
		return nil, err
	}
	if c.blindInNamespace() {
		return nil, ErrPIDNamespace
	}
	return &CgroupPods{config: c}, nil
}

// hierarchies are the directories below the root that may hold the kubelet's
// tree, in order of preference: the root itself on v2, then the controllers of
// v1 that every kubelet uses.
var hierarchies = []string{"", "cpu,cpuacct", "cpuacct,cpu", "cpu", "cpuacct", "memory", "pids", "systemd", "unified"}

// parents are where the tree usually hangs in a hierarchy: at its top, or below the
// kubelet's own group when it runs with --cgroup-root (kind does). Elsewhere it is
// searched for.
var parents = []string{"", "kubelet", "kubelet.slice"}

// isKubepods reports whether a directory is the top of the kubelet's tree:
// kubepods, kubepods.slice, or kubelet-kubepods.slice below kubelet.slice.
func isKubepods(name string) bool {
	return name == "kubepods" || name == "kubepods.slice" || strings.HasSuffix(name, "-kubepods.slice")
}

// leadsToKubelet reports whether the kubelet's tree may be in a directory that
// appeared, or is it.
func leadsToKubelet(name string) bool {
	return isKubepods(name) || slices.Contains(parents, name) || slices.Contains(hierarchies, name)
}

// isQoS reports whether a directory of that tree holds the pods of a QoS class;
// guaranteed pods are at its top.
func isQoS(name string) bool {
	switch name {
	case "burstable", "besteffort":
		return true
	}
	return strings.HasSuffix(name, "kubepods-burstable.slice") || strings.HasSuffix(name, "kubepods-besteffort.slice")
}

// podUID returns the UID in the name of a pod's cgroup: pod<uid> with the
// cgroupfs driver, …-pod<uid>.slice with - written as _ with systemd's.
func podUID(name string) (string, bool) {
	uid, ok := strings.CutPrefix(name, "pod")
	if slice, systemd := strings.CutSuffix(name, ".slice"); systemd {
		at := strings.LastIndex(slice, "-pod")
		ok = at >= 0 && strings.Contains(slice[:at], "kubepods")
		if ok {
			uid = strings.ReplaceAll(slice[at+len("-pod"):], "_", "-")
		}
	}
	return uid, ok && uid != ""
}

// maxNested bounds how deep below a container's cgroup its processes are looked
// for: a container that runs its own init has groups of its own, and crun puts
// what it starts into one named container where systemd manages the cgroups.
const maxNested = 4

// isContainer reports whether a directory below a pod is a container's: all are,
// except for CRI-O's monitor process.
func isContainer(name string) bool { return !strings.Contains(name, "conmon") }

func isCRIO(name string) bool { return strings.HasPrefix(name, "crio-") }

// isPause reports whether a process in a container's cgroup is that of a sandbox: pause, or
// pod where CRI-O runs the one of OpenShift.
func isPause(comm, container string) bool {
	return comm == "pause" || comm == "pod" && isCRIO(container)
}

// isRuntime reports whether a process in a container's cgroup is still the
// runtime's: it joins the cgroup ahead of the workload's exec.
func isRuntime(comm string) bool {
	switch comm {
	case "crun", "youki", "runsc", "conmon", "exe":
		return true
	}
	return strings.HasPrefix(comm, "runc")
}

// kubeletTree is where a kubelet keeps the cgroups of its pods: at rel below the root of
// a hierarchy.
type kubeletTree struct {
	hierarchy, rel string
	// use is what it held when it was found.
	use treeUse
}

// treeUse is how sure it is that a kubelet uses a tree.
type treeUse int

const (
	treeEmpty      treeUse = iota
	treePods               // cgroups of pods, which may be left over from before
	treeContainers         // and in one of them a container's
)

// Bounds of the search for a tree in an unusual place: how deep it goes, and how many
// directories it lists.
const (
	searchDepth = 8
	searchMost  = 4096
)

// findKubelet looks for the kubelet's tree below root: in the usual places, then, if none
// of these has containers, anywhere. The one most in use is preferred: another may be another's
// of the same name, or left over from another cgroup driver. elsewhere is a directory that has
// pods without being one.
func findKubelet(root string) (found kubeletTree, ok bool, elsewhere string) {
	for _, h := range hierarchies {
		for _, parent := range parents {
			for _, name := range directories(filepath.Join(root, h, parent)) {
				if !isKubepods(name) {
					continue
				}
				rel := filepath.Join(parent, name)
				use := useOf(filepath.Join(root, h, rel))
				if use == treeContainers {
					return kubeletTree{h, rel, use}, true, ""
				}
				if !ok || use > found.use {
					found, ok = kubeletTree{h, rel, use}, true
				}
			}
		}
	}
	for _, h := range hierarchies {
		rel, use, stray := searchPods(filepath.Join(root, h), h == "")
		if use > found.use {
			found, ok = kubeletTree{h, rel, use}, true
		}
		if elsewhere == "" && stray != "" {
			elsewhere = filepath.Join(root, h, stray)
		}
	}
	if found.use > treeEmpty {
		elsewhere = ""
	}
	return found, ok, elsewhere
}

// searchPods searches a hierarchy for the tree most in use, the shallowest first. stray is a
// directory with pods that is no kubelet's.
func searchPods(root string, skipHierarchies bool) (rel string, use treeUse, stray string) {
	level := []string{""}
	for depth, listed := 0, 0; depth < searchDepth && len(level) > 0; depth++ {
		var next []string
		for _, dir := range level {
			if listed++; listed > searchMost {
				return rel, use, stray
			}
			for _, name := range directories(filepath.Join(root, dir)) {
				path := filepath.Join(dir, name)
				switch {
				case dir == "" && skipHierarchies && slices.Contains(hierarchies, name):
					continue
				case isQoS(name) && isKubepods(filepath.Base(dir)):
					continue
				case isKubepods(name):
					if there := useOf(filepath.Join(root, path)); there > use {
						rel, use = path, there
					}
					if use == treeContainers {
						return rel, use, ""
					}
				}
				if uid, isPod := podUID(name); isPod && isUUID(uid) {
					if stray == "" && !isKubepods(filepath.Base(dir)) {
						stray = dir
					}
					continue
				}
				next = append(next, path)
			}
		}
		level = next
	}
	return rel, use, stray
}

// useOf returns what a kubelet's tree holds.
func useOf(tree string) (use treeUse) {
	names := directories(tree)
	for _, class := range append([]string{""}, names...) {
		if class != "" {
			if !isQoS(class) {
				continue
			}
			names = directories(filepath.Join(tree, class))
		}
		for _, name := range names {
			if _, isPod := podUID(name); !isPod {
				continue
			}
			if use = treePods; slices.ContainsFunc(directories(filepath.Join(tree, class, name)), isContainer) {
				return treeContainers
			}
		}
	}
	return use
}

// isUUID reports whether a UID is one that an API server or a kubelet makes, with or
// without its dashes.
func isUUID(uid string) bool {
	digits := strings.ReplaceAll(uid, "-", "")
	return len(digits) == 32 && strings.Trim(digits, "0123456789abcdef") == ""
}

// CgroupLayout reports which control groups are mounted at root, such as
// /sys/fs/cgroup: "v2", "v1", "hybrid" of both, or "none". It distinguishes them as
// systemd does.
func CgroupLayout(root string) string {
	there := func(path string) bool { return exists(filepath.Join(root, path)) }
	switch {
	case there("cgroup.controllers"):
		return "v2"
	case there("unified/cgroup.controllers"):
		return "hybrid"
	case there("cpu"), there("cpu,cpuacct"), there("cpuacct,cpu"), there("pids"):
		return "v1"
	}
	return "none"
}

// ErrPIDNamespace is that the processes of pods cannot be seen: the process has a
// PID namespace of its own, from which cgroup v1 shows no others, and there is no
// pids controller whose counts show that they are there.
var ErrPIDNamespace = errors.New("cgroup v1 without the pids controller shows no pod to a process in a PID namespace of its own: run the agent in the host's (hostPID)")

// initialPIDs names the PID namespace of the machine: its inode is a constant of
// Linux (PROC_PID_INIT_INO).
const initialPIDs = "pid:[4026531836]"

// blindInNamespace reports whether pods would be passed over in silence. Where a
// node is itself a container, its namespace is not the machine's; the agent is in
// one of its own only if the first process shares its cgroup.
func (c CgroupConfig) blindInNamespace() bool {
	if exists(filepath.Join(c.Root, "cgroup.controllers")) || exists(filepath.Join(c.Root, "pids")) {
		return false
	}
	namespace, err := os.Readlink(filepath.Join(c.ProcRoot, "self/ns/pid"))
	if err != nil || namespace == initialPIDs {
		return false
	}
	first, err := os.ReadFile(filepath.Join(c.ProcRoot, "1/cgroup"))
	if err != nil {
		return false
	}
	own, err := os.ReadFile(filepath.Join(c.ProcRoot, "self/cgroup"))
	return err == nil && string(own) == string(first)
}
