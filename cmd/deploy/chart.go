package deploy

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// chartFiles is the chart: the one source of all manifests.
//
//go:embed all:chart
var chartFiles embed.FS

// chartName is the chart's and its release's.
const chartName = "spazio"

// loadChart reads the chart that is built in, once: rendering does not change it.
var loadChart = sync.OnceValues(func() (*chart.Chart, error) {
	var files []*archive.BufferedFile
	err := fs.WalkDir(chartFiles, "chart", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := chartFiles.ReadFile(name)
		files = append(files, &archive.BufferedFile{Name: strings.TrimPrefix(name, "chart/"), Data: data})
		return err
	})
	if err != nil {
		return nil, err
	}
	return loader.LoadFiles(files)
})

// componentFiles are the files of values in the chart's directory ci, sorted.
func componentFiles() []string {
	files, err := fs.Glob(chartFiles, "chart/ci/*-values.yaml")
	if err != nil {
		panic(err) // the pattern is a constant
	}
	return files
}

func componentName(file string) string { return strings.TrimSuffix(path.Base(file), "-values.yaml") }

// componentValues are the values of a component.
func componentValues(name string) (values map[string]any, err error) {
	text, err := chartFiles.ReadFile("chart/ci/" + name + "-values.yaml")
	if err != nil {
		return nil, err
	}
	err = yaml.UnmarshalStrict(text, &values)
	return values, err
}

// images are the names that Config.Digests may have, as the schema of the chart's values lists them,
// sorted: programs, and the scheduler once more for each version of Kubernetes but the default.
func images() []string {
	type schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	text, err := chartFiles.ReadFile("chart/values.schema.json")
	for _, key := range []string{"images", "digests"} {
		var s schema
		if err == nil {
			err = json.Unmarshal(text, &s)
		}
		text = s.Properties[key]
	}
	var digests schema
	if err == nil {
		err = json.Unmarshal(text, &digests)
	}
	if err != nil {
		panic(fmt.Sprintf("deploy: the schema of the chart's values: %v", err)) // it is built in
	}
	return slices.Sorted(maps.Keys(digests.Properties))
}

// render returns the objects that the chart makes of values for an API server of a version, such as
// v1.37.0, in the order in which to make them. The values have to be as the chart's schema says.
func render(values map[string]any, server string) ([]*unstructured.Unstructured, error) {
	c, err := loadChart()
	if err != nil {
		return nil, fmt.Errorf("deploy: the chart: %w", err)
	}
	version, err := common.ParseKubeVersion(server)
	if err != nil {
		return nil, fmt.Errorf("deploy: %w", err)
	}
	capabilities := common.DefaultCapabilities.Copy()
	capabilities.KubeVersion = *version
	// The manifests do not depend on the release's own namespace.
	release := common.ReleaseOptions{Name: chartName, Namespace: SystemNamespace, Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(c, values, release, capabilities)
	if err != nil {
		return nil, fmt.Errorf("deploy: %w", err)
	}
	rendered, err := engine.Render(c, all)
	if err != nil {
		return nil, fmt.Errorf("deploy: %w", err)
	}
	var objects []*unstructured.Unstructured
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if path.Ext(name) != ".yaml" {
			continue
		}
		found, err := decode(rendered[name])
		if err != nil {
			return nil, fmt.Errorf("deploy: %s: %w", name, err)
		}
		objects = append(objects, found...)
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return objects, nil
}

// decode parses YAML documents. It keeps whole numbers whole, as the API does.
func decode(text string) (objects []*unstructured.Unstructured, err error) {
	for part := range bytes.SplitSeq([]byte("\n"+text), []byte("\n---\n")) {
		part, err := yaml.YAMLToJSONStrict(append(part, '\n'))
		if err != nil {
			return nil, err
		}
		o := &unstructured.Unstructured{}
		if err := utiljson.Unmarshal(part, &o.Object); err != nil {
			return nil, err
		}
		if len(o.Object) > 0 {
			objects = append(objects, o)
		}
	}
	return objects, nil
}

// rank has what others are in, or are of, come first, and then Helm's order; kinds that Helm does
// not know come last.
func rank(o *unstructured.Unstructured) int {
	switch kind := o.GetKind(); kind {
	case "Namespace":
		return -2
	case "CustomResourceDefinition":
		return -1
	default:
		if i := slices.Index(releaseutil.InstallOrder, kind); i >= 0 {
			return i
		}
		return len(releaseutil.InstallOrder)
	}
}
