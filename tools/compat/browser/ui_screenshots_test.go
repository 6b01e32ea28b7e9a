package browser

import (
	"testing"

	"github.com/spazio-scheduler/spazio/external/server/servertest"
)

// pages are the pages to look at: a name, a path, and what to do before.
var pages = []struct{ name, path, ready string }{
	{"overview", "", live},
	{"builder", "build?testbed=default/cluster&job=default/log-sort&job=default/spark-pi", `document.querySelector("#plan").dataset.state == "good"`},
	{"job", "jobs/default/kmeans", live},
	{"matrix", "matrix", ``},
}

func TestUIScreenshots(t *testing.T) {
	Pictures(t)
	bench := serve(t)
	b := open(t, bench.URL, 1280, 900)
	b.login(servertest.Admin)
	for _, scheme := range []string{"light", "dark"} {
		b.Likes(scheme)
		for _, p := range pages {
			b.visit(p.path)
			if p.ready != "" {
				b.Until(p.ready)
			}
			name := p.name
			if scheme == "dark" {
				name += "-dark"
			}
			b.Picture(name)
		}
	}
}
