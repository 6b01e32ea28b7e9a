package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	commonutil "helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"sigs.k8s.io/yaml"
)

const chartDir = "deploy/chart"

// crdDirs have the custom resources that the chart brings along.
var crdDirs = []string{"profile/v1alpha1/crd", "operator/v1alpha1/crd"}

// apiServer is the version that is rendered for: the scheduler's of the values' defaults.
const apiServer = "v1.36.0"

// install is the variant without values of its own.
const install = "install"

// generate makes all files of the generated directories.
func generate(root string) (tree, error) {
	files, err := definitions(root)
	if err != nil {
		return nil, err
	}
	c, err := open(root, files)
	if err != nil {
		return nil, err
	}
	variants, err := c.variants()
	if err != nil {
		return nil, err
	}
	manifests := map[string][]object{}
	for name, values := range variants {
		if manifests[name], err = c.render(values); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		files["deploy/rendered/"+name+".yaml"] = text(name, manifests[name])
	}
	return files, errors.Join(kustomizations(files, manifests), dashboards(files))
}

// definitions are what a chart takes from its own directory alone: those of our custom
// resources, and the alerts.
func definitions(root string) (tree, error) {
	files := tree{}
	for _, dir := range crdDirs {
		there, err := read(root, dir)
		if err != nil {
			return nil, err
		}
		for name, text := range there {
			files["deploy/chart/files/crd/"+path.Base(name)] = text
		}
	}
	return files, addRules(files)
}

// helmChart is the chart with the files that are about to be generated.
type helmChart struct {
	*chart.Chart
	root string
}

func open(root string, files tree) (*helmChart, error) {
	c, err := loader.LoadDir(filepath.Join(root, chartDir))
	if err != nil {
		return nil, err
	}
	c.Files = slices.DeleteFunc(c.Files, func(f *common.File) bool { return strings.HasPrefix(f.Name, "files/") })
	for _, name := range slices.Sorted(maps.Keys(files)) {
		c.Files = append(c.Files, &common.File{Name: strings.TrimPrefix(name, chartDir+"/"), Data: []byte(files[name])})
	}
	return &helmChart{c, root}, nil
}

// variants are the values of each.
func (c *helmChart) variants() (map[string]map[string]any, error) {
	there, err := read(c.root, chartDir+"/ci")
	if err != nil {
		return nil, err
	}
	all := map[string]map[string]any{install: {}}
	for file, text := range there {
		var values map[string]any
		if err := yaml.UnmarshalStrict([]byte(text), &values); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all[strings.TrimSuffix(path.Base(file), "-values.yaml")] = values
	}
	return all, nil
}

// lint returns what Helm finds wrong.
func (c *helmChart) lint(values map[string]any) (found []support.Message) {
	for _, m := range lint.RunAll(filepath.Join(c.root, chartDir), values, systemNamespace).Messages {
		if m.Severity > support.InfoSev {
			found = append(found, m)
		}
	}
	return found
}

// systemNamespace is the release's, on which the manifests do not depend.
const systemNamespace = "spazio-system"

// object is one manifest.
type object struct {
	text    string
	content map[string]any
}

func (o object) kind() string { return fmt.Sprint(o.content["kind"]) }

func (o object) metadata(field string) string {
	metadata, _ := o.content["metadata"].(map[string]any)
	value, _ := metadata[field].(string)
	return value
}

// id names the object in its cluster.
func (o object) id() string {
	return fmt.Sprintf("%v %s %s/%s", o.content["apiVersion"], o.kind(), o.metadata("namespace"), o.metadata("name"))
}

// render returns the objects in the order in which they are to be made. The values
// have to be as the chart's schema says.
func (c *helmChart) render(values map[string]any) ([]object, error) {
	return c.renderFor(apiServer, values)
}

// renderFor renders for an API server of a version.
func (c *helmChart) renderFor(apiServer string, values map[string]any) ([]object, error) {
	version, err := common.ParseKubeVersion(apiServer)
	if err != nil {
		return nil, err
	}
	capabilities := common.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *version
	all, err := commonutil.ToRenderValues(c.Chart, values, common.ReleaseOptions{Name: "spazio", Namespace: systemNamespace, Revision: 1, IsInstall: true}, capabilities)
	if err != nil {
		return nil, err
	}
	rendered, err := engine.Render(c.Chart, all)
	if err != nil {
		return nil, err
	}
	var objects []object
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if path.Ext(name) != ".yaml" {
			continue
		}
		found, err := split(rendered[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		objects = append(objects, found...)
	}
	slices.SortStableFunc(objects, func(a, b object) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.id(), b.id()))
	})
	return objects, nil
}

// rank is the place of the object's kind among those that Helm knows; others come
// last, as in Helm.
func rank(o object) int {
	i := slices.Index(releaseutil.InstallOrder, o.kind())
	if i < 0 {
		return len(releaseutil.InstallOrder)
	}
	return i
}

// split parses the documents of a file, each of which keeps its comments.
func split(text string) (objects []object, err error) {
	for _, part := range strings.Split("\n"+text, "\n---\n") {
		o := object{text: strings.Trim(part, "\n") + "\n"}
		if err := yaml.UnmarshalStrict([]byte(o.text), &o.content); err != nil {
			return nil, err
		}
		if len(o.content) > 0 {
			objects = append(objects, o)
		}
	}
	return objects, nil
}

// text is a file of manifests.
func text(variant string, objects []object) string {
	var b strings.Builder
	source := chartDir
	if variant != install {
		source += " with the values of " + chartDir + "/ci/" + variant + "-values.yaml"
	}
	fmt.Fprintf(&b, "# Generated by tools/deploy from %s. DO NOT EDIT.\n", source)
	for _, o := range objects {
		b.WriteString("---\n" + o.text)
	}
	return b.String()
}
