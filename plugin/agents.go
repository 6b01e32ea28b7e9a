package plugin

import (
	"context"
	"strings"
	"sync"
	"unicode/utf8"

	"google.golang.org/grpc/metadata"
	"k8s.io/component-base/metrics"
)

const (
	// agentProduct begins the user agent of Spazio's agents; their version follows it.
	agentProduct = "spazio-agent/"
	// mostVersions bounds the metric's series, because a caller may claim any version. An
	// upgrade has two.
	mostVersions = 16
	// longestVersion exceeds the length of any pseudo-version.
	longestVersion = 64

	versionUnknown = "unknown"
	versionOther   = "other"
)

// agentVersions counts the reporting agents by the version that they claim.
// Safe for concurrent use.
type agentVersions struct {
	gauge *metrics.GaugeVec
	mu    sync.Mutex
	count map[string]int
}

// join counts one more until leave is called.
func (v *agentVersions) join(version string) (leave func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.count[version] == 0 && len(v.count) >= mostVersions {
		version = versionOther
	}
	v.add(version, 1)
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.add(version, -1)
	}
}

// add needs v.mu.
func (v *agentVersions) add(version string, n int) {
	v.count[version] += n
	if v.count[version] == 0 {
		delete(v.count, version)
		v.gauge.DeleteLabelValues(version)
		return
	}
	v.gauge.WithLabelValues(version).Set(float64(v.count[version]))
}

// agentVersion returns the version that a stream's agent claims, or versionUnknown.
func agentVersion(ctx context.Context) string {
	known, _ := metadata.FromIncomingContext(ctx)
	for _, name := range known.Get("user-agent") {
		if rest, ok := strings.CutPrefix(name, agentProduct); ok {
			version, _, _ := strings.Cut(rest, " ")                                           // gRPC's own follows
			if version != "" && len(version) <= longestVersion && utf8.ValidString(version) { // else no label
				return version
			}
		}
	}
	return versionUnknown
}
