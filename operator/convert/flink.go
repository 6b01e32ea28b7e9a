package convert

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/spazio-scheduler/spazio/field"
)

// flink makes of the spec of a FlinkCluster (flinkoperator.k8s.io/v1beta1) that of a
// FlinkDeployment.
func (m *manifest) flink(spec map[string]any) error {
	if spec["flinkSpec"] == nil {
		return nil
	}
	old, err := fields(spec, "flinkSpec")
	if err != nil {
		return err
	}
	f := flink{manifest: m, old: old, new: map[string]any{}}
	f.move(old, f.new, map[string]string{
		"serviceAccountName": "serviceAccount", "flinkProperties": "flinkConfiguration",
	})
	for _, convert := range []func() error{f.image, f.version, f.job, f.jobManager} {
		if err := convert(); err != nil {
			return within("spec.flinkSpec.", err)
		}
	}
	// The slots say what task managers there are.
	f.leave("", old)
	spec["flinkSpec"] = f.new
	return nil
}

// within puts the path of an object before the field that an error names.
func within(path string, err error) error {
	if refused := field.By(err, "convert"); refused != nil {
		return &field.Error{Package: "convert", Field: path + refused.Field, Value: refused.Value, Err: refused.Err}
	}
	return err
}

// flink is a FlinkCluster on its way: what is converted goes from old to new.
type flink struct {
	*manifest
	old, new map[string]any
}

// move moves fields by their new names.
func (f *flink) move(from, to map[string]any, names map[string]string) {
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
		f.drop(rest, "spec.flinkSpec."+path, key)
	}
}

// extract removes an object from the old one and returns it.
func (f *flink) extract(key string) (map[string]any, error) {
	inner, err := fields(f.old, key)
	delete(f.old, key)
	return inner, err
}

func (f *flink) image() error {
	image, err := f.extract("image")
	if err != nil {
		return err
	}
	f.move(image, f.new, map[string]string{"name": "image", "pullPolicy": "imagePullPolicy"})
	f.leave("image.", image)
	return nil
}

var version = regexp.MustCompile(`^([0-9]+)\.([0-9]+)`)

// version makes v1_13 of 1.13.
func (f *flink) version() error {
	given := f.old["flinkVersion"]
	delete(f.old, "flinkVersion")
	if given == nil {
		return nil
	}
	parts := version.FindStringSubmatch(fmt.Sprint(given))
	if parts == nil {
		return refuse("flinkVersion", given, "a version such as 1.13")
	}
	f.new["flinkVersion"] = "v" + parts[1] + "_" + parts[2]
	return nil
}

func (f *flink) job() error {
	old, err := f.extract("job")
	if err != nil {
		return err
	}
	job := map[string]any{}
	if jar, ok := old["jarFile"].(string); ok {
		job["jarURI"] = jarURI(jar)
		delete(old, "jarFile")
	}
	f.move(old, job, map[string]string{"className": "entryClass", "args": "args", "parallelism": "parallelism", "allowNonRestoredState": "allowNonRestoredState"})
	f.leave("job.", old)
	if len(job) > 0 {
		f.new["job"] = job
	}
	return nil
}

// jarURI says where a file is in the image: Flink's images work in /opt/flink.
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
func (f *flink) jobManager() error {
	old, err := f.extract("jobManager")
	if err != nil {
		return err
	}
	resources, err := fields(old, "resources")
	if err != nil {
		return within("jobManager.", err)
	}
	delete(old, "resources")
	amounts := map[string]any{}
	for _, kind := range []string{"requests", "limits"} {
		list, err := fields(resources, kind)
		if err != nil {
			return within("jobManager.resources.", err)
		}
		for _, name := range slices.Sorted(maps.Keys(list)) {
			value := list[name]
			amount, err := resource.ParseQuantity(fmt.Sprint(value))
			if err != nil {
				return refuse("jobManager.resources."+kind+"."+name, value, "a quantity")
			}
			switch name {
			case "cpu":
				amounts[name] = amount.AsApproximateFloat64()
			case "memory":
				amounts[name] = fmt.Sprintf("%dm", amount.Value()>>20) // Flink's m is MiB
			default:
				f.notes = append(f.notes, Note{f.name, "spec.flinkSpec.jobManager.resources." + kind + "." + name})
			}
		}
	}
	manager := map[string]any{}
	f.move(old, manager, map[string]string{"replicas": "replicas"})
	if len(amounts) > 0 {
		manager["resource"] = amounts
	}
	f.leave("jobManager.", old)
	if len(manager) > 0 {
		f.new["jobManager"] = manager
	}
	return nil
}
