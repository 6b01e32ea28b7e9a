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
	// hasPods: there were pods when it was found.
	hasPods bool
}

// Bounds of the search for a tree in an unusual place: how deep it goes, and how many
// directories it lists.
const (
	searchDepth = 8
	searchMost  = 4096
)

// findKubelet looks for the kubelet's tree below root: in the usual places, then, if none
// of these has pods, anywhere. One with pods is preferred to one without, which may be
// another's of the same name. elsewhere is a directory that has pods without being one.
func findKubelet(root string) (found kubeletTree, ok bool, elsewhere string) {
	for _, h := range hierarchies {
		for _, parent := range parents {
			for _, name := range directories(filepath.Join(root, h, parent)) {
				if !isKubepods(name) {
					continue
				}
				rel := filepath.Join(parent, name)
				if hasPods(filepath.Join(root, h, rel)) {
					return kubeletTree{h, rel, true}, true, ""
				}
				if !ok {
					found, ok = kubeletTree{h, rel, false}, true
				}
			}
		}
	}
	for _, h := range hierarchies {
		rel, inTree, stray := searchPods(filepath.Join(root, h), h == "")
		if inTree {
			return kubeletTree{h, rel, true}, true, ""
		}
		if elsewhere == "" && stray != "" {
			elsewhere = filepath.Join(root, h, stray)
		}
	}
	return found, ok, elsewhere
}

// searchPods searches a hierarchy for a tree with pods, the shallowest first. stray is a
// directory with pods that is no kubelet's.
func searchPods(root string, skipHierarchies bool) (rel string, found bool, stray string) {
	level := []string{""}
	for depth, listed := 0, 0; depth < searchDepth && len(level) > 0; depth++ {
		var next []string
		for _, dir := range level {
			if listed++; listed > searchMost {
				return "", false, stray
			}
			for _, name := range directories(filepath.Join(root, dir)) {
				path := filepath.Join(dir, name)
				switch {
				case dir == "" && skipHierarchies && slices.Contains(hierarchies, name):
					continue
				case isQoS(name) && isKubepods(filepath.Base(dir)):
					continue
				case isKubepods(name) && hasPods(filepath.Join(root, path)):
					return path, true, ""
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
	return "", false, stray
}

// hasPods reports whether there are cgroups of pods in a kubelet's tree.
func hasPods(tree string) bool {
	isPod := func(name string) bool { _, ok := podUID(name); return ok }
	names := directories(tree)
	return slices.ContainsFunc(names, isPod) || slices.ContainsFunc(names, func(name string) bool {
		return isQoS(name) && slices.ContainsFunc(directories(filepath.Join(tree, name)), isPod)
	})
}

// isUUID reports whether a UID is one that an API server or a kubelet makes, with or
// without its dashes.
func isUUID(uid string) bool {
	digits := strings.ReplaceAll(uid, "-", "")
	return len(digits) == 32 && strings.Trim(digits, "0123456789abcdef") == ""
}
