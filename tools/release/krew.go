package main

import (
	"errors"
	"net/url"
	"os"
	"strings"
	"text/template"
)

// plugin is the program that kubectl, and Krew, look for.
const plugin = "kubectl-spazio"

func checkURL(text string) error {
	if u, err := url.Parse(text); err != nil || u.Scheme != "https" || u.Host == "" {
		return invalid("url", text, "want an https URL")
	}
	return nil
}

// writeManifest writes by what Krew installs the plugin as "kubectl spazio": which archive
// is for which platform, where it is published and its sum.
func writeManifest(name, published string, made []archive) error {
	var plugins []archive
	for _, a := range made {
		if a.Program == plugin {
			plugins = append(plugins, a)
		}
	}
	file, err := os.Create(name)
	if err != nil {
		return err
	}
	err = manifest.Execute(file, map[string]any{
		"Version": plugins[0].Version, "URL": strings.TrimSuffix(published, "/"), "Archives": plugins,
	})
	return errors.Join(err, file.Close())
}

var manifest = template.Must(template.New("").Parse(`apiVersion: krew.googlecontainertools.github.com/v1alpha2
kind: Plugin
metadata:
  name: spazio
spec:
  version: {{.Version}}
  homepage: https://github.com/spazio-scheduler/spazio
  shortDescription: Schedule pods by what nodes measure
  description: |
    Installs Spazio in a cluster, removes it, says whether it works, and shows
    what it knows of nodes and pods: kubectl spazio install, check, top, explain,
    why, model, uninstall.
  platforms:
{{- $url := .URL}}{{range .Archives}}
  - selector:
      matchLabels:
        os: {{.OS}}
        arch: {{.Arch}}
    uri: {{$url}}/{{.File}}
    sha256: {{.SHA256}}
    bin: {{.Program}}
    files:
    - from: {{.Program}}
      to: .
    - from: LICENSE
      to: .
{{- end}}
`))
