package deploy

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/spazio-scheduler/spazio/field"
)

// The namespaces that are installed into, and the schedulers' names in pods: those but
// the first are there with the components energy and testbed.
const (
	SystemNamespace, AgentNamespace = "spazio-system", "spazio-agent"
	SchedulerName                   = "spazio"
	EnergySchedulerName             = "spazio-energy"
	slotsSchedulerName              = "spazio-slots"
)

// NoRegistry is what the chart calls the images' registry by default: there is none, but
// nodes may have been given images by that name.
const NoRegistry = "registry.invalid/spazio"

const schedulerProgram = "spazio-scheduler"

// Config is what is installed. The zero value is the chart's defaults, whose
// images are nowhere: to run them takes a Registry. It is a plain value.
type Config struct {
	// Components are added to the defaults; Components() names them all.
	Components []string
	// Registry is where the images are, such as registry.example/spazio; empty
	// leaves them at NoRegistry.
	Registry string
	// Tag is the images', default dev. Digests are taken instead for the images
	// they name: spazio-agent is sha256: and 64 hexadecimal digits.
	Tag     string
	Digests map[string]string
	// Kubernetes is the minor version that the scheduler is of, one of [Schedulers] and
	// by default the last of them. The image of another has its name at the end of the
	// tag, dev-k8s1.35, or in Digests of its own: spazio-scheduler-k8s1.35.
	// [Version.Scheduler] returns the one for a cluster.
	Kubernetes string
}

// Components are the names that a Config may have, sorted: those of the files of values in
// cmd/deploy/chart/ci.
func Components() []string {
	var names []string
	for _, file := range componentFiles() {
		names = append(names, componentName(file))
	}
	return names
}

// What an image is named by; those of a registry's own syntax are narrower.
var (
	registryName = regexp.MustCompile(`^[a-zA-Z0-9][-a-zA-Z0-9.]*(:[0-9]+)?(/[a-z0-9][-._a-z0-9]*)*$`)
	tagName      = regexp.MustCompile(`^[A-Za-z0-9_][-.A-Za-z0-9_]{0,127}$`)
	digestName   = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
)

// Validate returns a *field.Error for a value that is out of its range.
func (c Config) Validate() error {
	known := Components()
	for i, name := range c.Components {
		switch {
		case !slices.Contains(known, name):
			return refuse("Components", name, "one of "+strings.Join(known, ", "))
		case slices.Contains(c.Components[:i], name):
			return refuse("Components", name, "named once")
		}
	}
	if c.Registry != "" && !registryName.MatchString(c.Registry) {
		return refuse("Registry", c.Registry, "a registry's host and a path, without a scheme")
	}
	if c.Kubernetes != "" && !slices.Contains(Schedulers(), c.Kubernetes) {
		return refuse("Kubernetes", c.Kubernetes, "one of "+strings.Join(Schedulers(), ", "))
	}
	if c.Tag != "" && !tagName.MatchString(c.Tag+c.suffix()) {
		return refuse("Tag", c.Tag, "letters, digits, dots, dashes and underscores, at most 128 of them")
	}
	return c.validateDigests()
}

func (c Config) validateDigests() error {
	known := images()
	for _, name := range slices.Sorted(maps.Keys(c.Digests)) {
		switch {
		case !slices.Contains(known, name):
			return refuse("Digests", name, "of "+strings.Join(known, ", "))
		case !digestName.MatchString(c.Digests[name]):
			return refuse("Digests["+name+"]", c.Digests[name], "sha256: and 64 hexadecimal digits")
		}
	}
	// Else a tag would take the place of what was to be named by its digest.
	if name := schedulerProgram + c.suffix(); c.Digests[schedulerProgram] != "" && c.Digests[name] == "" {
		return &field.Error{Package: "deploy", Field: "Digests", Value: name, Err: fmt.Errorf("%w: the file has no %s: make it with tools/images -kubernetes %s", ErrInvalid, name, c.Kubernetes)}
	}
	return nil
}

// Programs returns the names of the programs with images, sorted.
func Programs() []string {
	return slices.DeleteFunc(images(), func(name string) bool { return strings.HasPrefix(name, schedulerProgram+"-") })
}

// Objects returns what to install, in the order in which to do so: namespaces and
// definitions of resources first. A Config that Validate
// refuses is a *field.Error.
func (c Config) Objects() ([]*unstructured.Unstructured, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	values, err := c.values()
	if err != nil {
		return nil, err
	}
	return render(values, "v"+cmp.Or(c.Kubernetes, DefaultScheduler())+".0")
}

// values returns the chart's values for the Config.
func (c Config) values() (map[string]any, error) {
	images := map[string]any{}
	if c.Registry != "" {
		images["registry"] = c.Registry
	}
	if c.Tag != "" {
		images["tag"] = c.Tag
	}
	if len(c.Digests) > 0 {
		digests := map[string]any{}
		for name, digest := range c.Digests {
			digests[name] = digest
		}
		images["digests"] = digests
	}
	values := map[string]any{"images": images}
	if c.Kubernetes != "" {
		values["scheduler"] = map[string]any{"kubernetes": c.Kubernetes}
	}
	for _, name := range c.Components {
		component, err := componentValues(name)
		if err != nil {
			return nil, err
		}
		values = loader.MergeMaps(values, component)
	}
	return values, nil
}

// suffix ends the tag of a scheduler that is not of the default Kubernetes, and its name
// among digests, as tools/images and the chart name them.
func (c Config) suffix() string {
	if c.Kubernetes == "" || c.Kubernetes == DefaultScheduler() {
		return ""
	}
	return "-k8s" + c.Kubernetes
}
