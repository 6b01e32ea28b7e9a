// Package build identifies the program: to people, to peers and to Prometheus.
package build

import (
	"cmp"
	"errors"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Version is what the build recorded: the tag if it was built by version, if it
// was built from a clone the commit as a pseudo-version, with +dirty where files
// had changed. It is "(devel)" where the toolchain recorded neither, which it does
// not for go run and go test unless they get -buildvcs=true.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unversioned
	}
	return cmp.Or(info.Main.Version, unversioned)
}

// unversioned is what the toolchain calls a build of no version.
const unversioned = "(devel)"

// About is what programs answer to --version.
func About() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unversioned
	}
	return describe(info)
}

// describe returns a program's version, the commit that it was built from if the toolchain
// recorded one (by version it records none), its Go, and the release of Kubernetes that
// the libraries linked with it are of:
//
//	v0.1.0, commit 0123456789ab, go1.26.8, Kubernetes v1.37.2
func describe(info *debug.BuildInfo) string {
	parts := []string{cmp.Or(info.Main.Version, unversioned)}
	commit, changed := "", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			commit = s.Value[:min(len(s.Value), 12)]
		case "vcs.modified":
			if s.Value == "true" {
				changed = " and changes"
			}
		}
	}
	if commit != "" {
		parts = append(parts, "commit "+commit+changed)
	}
	if info.GoVersion != "" {
		parts = append(parts, info.GoVersion)
	}
	if v := kubernetes(info.Deps); v != "" {
		parts = append(parts, "Kubernetes "+v)
	}
	return strings.Join(parts, ", ")
}

// kubernetes is the release of Kubernetes among modules: its own, or that of a library,
// whose v0.37.2 is of v1.37.2; empty if there is none.
func kubernetes(deps []*debug.Module) string {
	library := ""
	for _, d := range deps {
		version := d.Version
		if d.Replace != nil {
			version = cmp.Or(d.Replace.Version, version)
		}
		switch d.Path {
		case "k8s.io/kubernetes":
			return version
		case "k8s.io/api", "k8s.io/apimachinery", "k8s.io/client-go":
			if minor, is := strings.CutPrefix(version, "v0."); is {
				library = "v1." + minor
			}
		}
	}
	return library
}

// Info returns a gauge that is 1 and names by its labels which program of Spazio
// this is, of which Version, and by which Go it was built.
func Info(program string) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "spazio_build_info", Help: "1 for the program, its version and that of Go.",
		ConstLabels: prometheus.Labels{"program": program, "version": Version(), "goversion": runtime.Version()},
	}, func() float64 { return 1 })
}

// Register adds what each program shows of itself: Info, Go's runtime and the
// process.
func Register(r prometheus.Registerer, program string) error {
	return errors.Join(
		r.Register(Info(program)),
		r.Register(collectors.NewGoCollector()),
		r.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})),
	)
}

// Informed is a gatherer that has Info besides, for a program that runs in the process of
// another one.
func Informed(program string, g prometheus.Gatherer) prometheus.Gatherer {
	own := prometheus.NewRegistry()
	own.MustRegister(Info(program))
	return prometheus.Gatherers{g, own}
}

// Shared adds a collector to r and returns the one to use: c itself, or its
// equal that r already holds, so that several parts of one process can count
// into the same series. A nil r registers nowhere. It fails where r holds
// another collector under the same name.
func Shared[C prometheus.Collector](r prometheus.Registerer, c C) (C, error) {
	if r == nil {
		return c, nil
	}
	err := r.Register(c)
	var already prometheus.AlreadyRegisteredError
	if errors.As(err, &already) {
		if existing, ok := already.ExistingCollector.(C); ok {
			return existing, nil
		}
	}
	return c, err
}
