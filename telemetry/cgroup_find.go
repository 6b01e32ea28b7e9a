package telemetry

import (
	"path/filepath"
	"slices"
	"strings"
)

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
