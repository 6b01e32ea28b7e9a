package uitest

import (
	"bytes"
	"cmp"
	"flag"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/spazio-scheduler/spazio/external/server/servertest"
)

var screenshots = flag.String("screenshots", "", "the directory that screenshots are written to; empty writes none")

// pages are those that are looked at: a name, a path, and what to do before.
var pages = []struct{ name, path, ready string }{
	{"overview", "", live},
	{"builder", "build?testbed=default/cluster&job=default/log-sort&job=default/spark-pi", `document.querySelector("#plan").dataset.state == "good"`},
	{"job", "jobs/default/kmeans", live},
	{"matrix", "matrix", ``},
}

func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("no directory was given by -screenshots")
	}
	bench := serve(t)
	b := open(t, bench.URL, 1280, 900)
	b.login(servertest.Admin)
	for _, scheme := range []string{"light", "dark"} {
		b.likes(scheme)
		for _, p := range pages {
			b.visit(p.path)
			if p.ready != "" {
				b.until(p.ready)
			}
			data, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
			b.fail(err)
			name := p.name
			if scheme == "dark" {
				name += "-dark"
			}
			if err := os.WriteFile(filepath.Join(*screenshots, name+".png"), smaller(t, data), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// smaller writes a picture with a palette of its most frequent colours, which is a third of
// its size and looks the same.
func smaller(t *testing.T, data []byte) []byte {
	t.Helper()
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	count := make(map[color.RGBA]int)
	bounds := img.Bounds()
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			r, g, b, _ := img.At(x, y).RGBA()
			count[color.RGBA{uint8(r >> 8), uint8(g >> 8), uint8(b >> 8), 255}]++
		}
	}
	out := image.NewPaletted(bounds, frequent(count))
	draw.Draw(out, bounds, img, bounds.Min, draw.Src)
	var b bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, out); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// frequent are the 256 most frequent colours.
func frequent(count map[color.RGBA]int) color.Palette {
	colours := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	var p color.Palette
	for _, c := range colours[:min(256, len(colours))] {
		p = append(p, c)
	}
	return p
}
