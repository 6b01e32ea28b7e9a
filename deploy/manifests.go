package deploy

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

//go:embed rendered/install.yaml kustomize/components/*/*.yaml
var files embed.FS

const (
	base       = "rendered/install.yaml"
	components = "kustomize/components"
)

// The namespaces that are installed into, and the schedulers' names in pods: those but
// the first are there with the components energy and testbed.
const (
	SystemNamespace, AgentNamespace = "spazio-system", "spazio-agent"
	SchedulerName                   = "spazio"
	EnergySchedulerName             = "spazio-energy"
	SlotsSchedulerName              = "spazio-slots"
)

// NoRegistry is what the manifests call the images' registry: there is none, but
// nodes may have been given images by that name.
const NoRegistry = "registry.invalid/spazio"

const (
	noTag            = "dev"
	schedulerProgram = "spazio-scheduler"
)

// Config says what is installed. The zero value is what is committed, whose
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
	// [Version.Scheduler] says which one is for a cluster.
	Kubernetes string
}

// Components are the names that a Config may have, sorted.
func Components() []string {
	entries, err := fs.ReadDir(files, components)
	if err != nil {
		return nil // they are built in
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// apart are the components that change the same part of an object: kustomize does
// not combine them either.
var apart = [][2]string{
	{"agent-kube", "cgroup-v1"}, {"agent-kube", "energy"}, {"agent-kube", "profiler"},
	{"cert-manager", "monitoring"}, {"cert-manager", "profiler"}, {"cert-manager", "testbed"},
	{"energy", "profiles-on"}, {"energy", "testbed"}, {"profiles-on", "testbed"},
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
	for _, pair := range apart {
		if slices.Contains(c.Components, pair[0]) && slices.Contains(c.Components, pair[1]) {
			return refuse("Components", c.Components, "without "+pair[0]+" or without "+pair[1]+": Helm combines them, the components do not")
		}
	}
	if c.Registry != "" && !registryName.MatchString(c.Registry) {
		return refuse("Registry", c.Registry, "a registry's host and a path, without a scheme")
	}
	if c.Kubernetes != "" && !slices.Contains(Schedulers(), c.Kubernetes) {
		return refuse("Kubernetes", c.Kubernetes, "one of "+strings.Join(Schedulers(), ", "))
	}
	if c.Tag != "" && !tagName.MatchString(c.Tag+c.suffix(schedulerProgram)) {
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
	if name := schedulerProgram + c.suffix(schedulerProgram); c.Digests[schedulerProgram] != "" && c.Digests[name] == "" {
		return refuse("Digests", schedulerProgram, "with "+name+", the scheduler of Kubernetes "+c.Kubernetes)
	}
	return nil
}

var image = regexp.MustCompile(regexp.QuoteMeta(NoRegistry) + `/([-a-z]+):` + noTag)

// Programs are those that there are images of, sorted.
func Programs() []string {
	texts, err := read(Components())
	if err != nil {
		return nil // they are built in
	}
	found := map[string]bool{}
	for _, text := range texts {
		for _, match := range image.FindAllStringSubmatch(text, -1) {
			found[match[1]] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// images are the names that Digests may have: programs, and the scheduler once more for
// each version of Kubernetes but the default.
func images() []string {
	names := Programs()
	for _, minor := range Schedulers() {
		if suffix := (Config{Kubernetes: minor}).suffix(schedulerProgram); suffix != "" {
			names = append(names, schedulerProgram+suffix)
		}
	}
	return names
}

// Objects returns what to install, in the order in which to do so: namespaces and
// definitions of resources first. Errors are *field.Error.
func (c Config) Objects() ([]*unstructured.Unstructured, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	texts, err := read(c.Components)
	if err != nil {
		return nil, err
	}
	for name := range texts {
		texts[name] = image.ReplaceAllStringFunc(texts[name], c.image)
	}
	renameJobs(texts)
	objects, err := decode(texts[base])
	if err != nil {
		return nil, err
	}
	for _, name := range c.Components {
		if objects, err = add(objects, texts, path.Join(components, name)); err != nil {
			return nil, fmt.Errorf("deploy: component %s: %w", name, err)
		}
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
	return objects, nil
}

// image returns what a program's image is called, given what the manifests call it.
func (c Config) image(was string) string {
	program := image.FindStringSubmatch(was)[1]
	registry, suffix := cmp.Or(c.Registry, NoRegistry), c.suffix(program)
	if digest := c.Digests[program+suffix]; digest != "" {
		return registry + "/" + program + "@" + digest
	}
	return registry + "/" + program + ":" + cmp.Or(c.Tag, noTag) + suffix
}

// suffix ends the tag of a scheduler that is not of the default Kubernetes, and its name
// among digests; tools/images names them so, and the chart.
func (c Config) suffix(program string) string {
	if program != schedulerProgram || c.Kubernetes == "" || c.Kubernetes == DefaultScheduler() {
		return ""
	}
	return "-k8s" + c.Kubernetes
}

// read returns the base and what the components add, by the files' names.
func read(components []string) (map[string]string, error) {
	texts := map[string]string{}
	add := func(name string) error {
		text, err := files.ReadFile(name)
		texts[name] = string(text)
		return err
	}
	if err := add(base); err != nil {
		return nil, err
	}
	for _, name := range components {
		found, err := fs.Glob(files, path.Join("kustomize/components", name, "*.yaml"))
		if err != nil {
			return nil, err
		}
		for _, file := range found {
			if err := add(file); err != nil {
				return nil, err
			}
		}
	}
	return texts, nil
}

// job is the one whose name ends with the hash of its pods' template, as the chart
// names it: a Job can't be changed.
var job = regexp.MustCompile(`(?ms)^  name: (spazio-certs-[0-9a-f]{8})$.*?^  template:\n(.*?)(^---$|\z)`)

// named is a line that says what an object, or a patch's target, is called.
var named = regexp.MustCompile(`(?m)^( *name: )(spazio-certs-[0-9a-f]{8})$`)

// renameJobs gives Jobs the names that belong to their templates.
func renameJobs(texts map[string]string) {
	renamed := map[string]string{}
	for _, text := range texts {
		for _, match := range job.FindAllStringSubmatch(text, -1) {
			template := strings.TrimSuffix(strings.TrimPrefix(strings.ReplaceAll("\n"+match[2], "\n    ", "\n"), "\n"), "\n")
			hash := sha256.Sum256([]byte(template))
			renamed[match[1]] = "spazio-certs-" + hex.EncodeToString(hash[:])[:8]
		}
	}
	for file, text := range texts {
		texts[file] = named.ReplaceAllStringFunc(text, func(line string) string {
			match := named.FindStringSubmatch(line)
			return match[1] + cmp.Or(renamed[match[2]], match[2])
		})
	}
}

// decode parses YAML documents; a text at the end of one keeps its line's end.
func decode(text string) (objects []*unstructured.Unstructured, err error) {
	for _, part := range strings.Split("\n"+text, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := decodeInto([]byte(part+"\n"), &o.Object); err != nil {
			return nil, err
		}
		if len(o.Object) > 0 {
			objects = append(objects, o)
		}
	}
	return objects, nil
}

// decodeInto keeps whole numbers whole, as the API does.
func decodeInto(text []byte, into any) error {
	text, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return err
	}
	return utiljson.Unmarshal(text, into)
}

// rank has what others are in, or are of, come first.
func rank(o *unstructured.Unstructured) int {
	switch o.GetKind() {
	case "Namespace":
		return 0
	case "CustomResourceDefinition":
		return 1
	}
	return 2
}
