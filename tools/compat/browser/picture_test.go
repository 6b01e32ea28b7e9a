package browser

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
)

var screenshots = flag.String("screenshots", "", "the directory that screenshots are written to; empty writes none")

// Pictures skips a test of pictures unless -screenshots names a directory.
func Pictures(t testing.TB) {
	t.Helper()
	if *screenshots == "" {
		t.Skip("no directory was given by -screenshots")
	}
}

// Picture writes what the page looks like, from top to end, as a PNG into the directory that
// -screenshots names.
func (b *Tab) Picture(name string) {
	b.T.Helper()
	data, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	b.Fail(err)
	small, err := smaller(data)
	b.Fail(err)
	b.Fail(os.WriteFile(filepath.Join(*screenshots, name+".png"), small, 0o644))
}

// smaller writes a picture with a palette of its most frequent colours, which is a third of
// its size and looks the same.
func smaller(data []byte) ([]byte, error) {
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
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
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, out)
	return b.Bytes(), err
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
