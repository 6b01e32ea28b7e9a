package convert

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
)

// flinkPath is the path of what flink converts.
const flinkPath = "spec.flinkSpec."

// flink makes of the spec of a FlinkCluster (flinkoperator.k8s.io/v1beta1) that of a
// FlinkDeployment.
func (m *manifest) flink(spec map[string]any) {
	if spec["flinkSpec"] == nil {
		return
	}
	f := flink{manifest: m, old: m.fields(spec, "spec.", "flinkSpec"), new: map[string]any{}}
	move(f.old, f.new, map[string]string{"serviceAccountName": "serviceAccount", "flinkProperties": "flinkConfiguration"})
	f.image()
	f.version()
	f.job()
	f.jobManager()
	// The slots decide what task managers there are.
	f.leave("", f.old)
	spec["flinkSpec"] = f.new
}

// flink is a FlinkCluster on its way: what is converted goes from old to new.
type flink struct {
	*manifest
	old, new map[string]any
}

// move moves fields by their new names.
func move(from, to map[string]any, names map[string]string) {
	for was, is := range names {
		if value := from[was]; value != nil {
			to[is] = value
		}
		delete(from, was)
	}
}

// leave notes what is left of an object.
func (f *flink) leave(path string, rest map[string]any) {
	for _, key := range slices.Sorted(maps.Keys(rest)) {
		f.drop(rest, flinkPath+path, key)
	}
}

// extract removes an object from the old one and returns it.
func (f *flink) extract(key string) map[string]any {
	inner := f.fields(f.old, flinkPath, key)
	delete(f.old, key)
	return inner
}

func (f *flink) image() {
	image := f.extract("image")
	move(image, f.new, map[string]string{"name": "image", "pullPolicy": "imagePullPolicy"})
	f.leave("image.", image)
}

var version = regexp.MustCompile(`^([0-9]+)\.([0-9]+)`)

// version makes v1_13 of 1.13.
func (f *flink) version() {
	given := f.old["flinkVersion"]
	delete(f.old, "flinkVersion")
	if given == nil {
		return
	}
	parts := version.FindStringSubmatch(fmt.Sprint(given))
	if parts == nil {
		f.fail(flinkPath+"flinkVersion", given, "a version such as 1.13")
		return
	}
	f.new["flinkVersion"] = "v" + parts[1] + "_" + parts[2]
}

func (f *flink) job() {
	old, job := f.extract("job"), map[string]any{}
	if jar, ok := old["jarFile"].(string); ok {
		job["jarURI"] = jarURI(jar)
		delete(old, "jarFile")
	}
	move(old, job, map[string]string{
		"className": "entryClass", "args": "args", "parallelism": "parallelism", "allowNonRestoredState": "allowNonRestoredState",
	})
	f.leave("job.", old)
	if len(job) > 0 {
		f.new["job"] = job
	}
}

// jarURI locates a file in the image: Flink's images work in /opt/flink.
func jarURI(file string) string {
	switch {
	case strings.Contains(file, "://"):
		return file
	case path.IsAbs(file):
		return "local://" + path.Clean(file)
	}
	return "local://" + path.Join("/opt/flink", file)
}

// jobManager has the memory and CPU of its limits, or of its requests.
func (f *flink) jobManager() {
	const at = "jobManager."
	old := f.extract("jobManager")
	resources := f.fields(old, flinkPath+at, "resources")
	delete(old, "resources")
	amounts := map[string]any{}
	for _, kind := range []string{"requests", "limits"} {
		list := f.fields(resources, flinkPath+at+"resources.", kind)
		for _, name := range slices.Sorted(maps.Keys(list)) {
			field := flinkPath + at + "resources." + kind + "." + name
			amount, err := resource.ParseQuantity(fmt.Sprint(list[name]))
			switch {
			case err != nil:
				f.fail(field, list[name], "a quantity")
			case name == "cpu":
				amounts[name] = amount.AsApproximateFloat64()
			case name == "memory":
				amounts[name] = fmt.Sprintf("%dm", amount.Value()>>20) // Flink's m is MiB
			default:
				f.notes = append(f.notes, Note{f.name, field})
			}
		}
	}
	manager := map[string]any{}
	move(old, manager, map[string]string{"replicas": "replicas"})
	if len(amounts) > 0 {
		manager["resource"] = amounts
	}
	f.leave(at, old)
	if len(manager) > 0 {
		f.new["jobManager"] = manager
	}
}
