package browser

import (
	"testing"

	"github.com/spazio-scheduler/spazio/web"
)

// scenes are the pages to look at.
var scenes = []struct {
	name  string
	state func() web.State
	// runs before the screenshot
	do func(*Tab)
}{
	{"twenty", twenty, func(*Tab) {}},
	{"running", running, func(b *Tab) {
		b.Script(`document.querySelector('#waiting button').click()`)
		b.Until(`document.querySelectorAll(".timeline li").length === 6`)
	}},
	{"thousands", thousands, func(b *Tab) {
		b.Script(`document.querySelector('.tile[data-kind="stale"]').click()`)
		b.Until(`document.querySelectorAll("#detail .lines li").length === 2`)
	}},
}

func TestWebPictures(t *testing.T) {
	Pictures(t)
	for _, s := range scenes {
		_, address := serveWeb(t, s.state())
		b := Open(t, address, 1280, 900)
		for _, scheme := range []string{"light", "dark"} {
			b.Likes(scheme)
			b.Visit("/page/")
			b.Until(shown)
			s.do(b)
			name := s.name
			if scheme == "dark" {
				name += "-dark"
			}
			b.Picture(name)
		}
		b.Hold()
	}
}
