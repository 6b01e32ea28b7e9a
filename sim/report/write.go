package report

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"image/color"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"
)

// resolution of a PNG in dots an inch.
const resolution = 110

// CheckPicture reports whether WriteFile takes the path; the error is a
// *field.Error.
func CheckPicture(path string) error {
	if extension := filepath.Ext(path); extension != ".png" && extension != ".svg" {
		return Refuse("path", path, "a file ending in .png or .svg")
	}
	return nil
}

// WriteFile draws into a file, by its ending .png or .svg.
func (c Chart) WriteFile(path string) error {
	if err := CheckPicture(path); err != nil {
		return err
	}
	write := c.WritePNG
	if filepath.Ext(path) == ".svg" {
		write = c.WriteSVG
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	return errors.Join(write(file), file.Close())
}

// WritePNG draws as PNG. The error is w's, or that of Validate.
func (c Chart) WritePNG(w io.Writer) error {
	if err := c.validate(); err != nil {
		return err
	}
	l := c.layout()
	canvas := vgimg.NewWith(vgimg.UseWH(width, l.height), vgimg.UseDPI(resolution), vgimg.UseBackgroundColor(color.White))
	l.draw(draw.New(canvas))
	_, err := vgimg.PngCanvas{Canvas: canvas}.WriteTo(w)
	return err
}

// WriteSVG draws as SVG. The error is w's, or that of Validate.
func (c Chart) WriteSVG(w io.Writer) error {
	if err := c.validate(); err != nil {
		return err
	}
	l := c.layout()
	canvas := vgsvg.New(width, l.height)
	l.draw(draw.New(canvas))
	var svg bytes.Buffer
	if _, err := canvas.WriteTo(&svg); err != nil {
		return err
	}
	_, err := w.Write(fitted(bytes.ReplaceAll(svg.Bytes(), []byte(measured), []byte(measured+alike))))
	return err
}

// The font that labels are measured in, and those as wide, which most machines have one
// of: another is squeezed.
const (
	measured = "font-family:Liberation Sans"
	alike    = ",Arimo,Arial,Helvetica,Nimbus Sans,sans-serif"
)

// label is a text of the picture: its size in points, and what it says.
var label = regexp.MustCompile(`<text ([^>]*font-size:([0-9.]+)px"[^>]*)>([^<]+)</text>`)

// fitted has each label take as much room as was left for it, whatever font the viewer has: in
// a wider one labels would run over each other, and legends out of the picture.
func fitted(svg []byte) []byte {
	return label.ReplaceAllFunc(svg, func(text []byte) []byte {
		parts := label.FindSubmatch(text)
		size, err := strconv.ParseFloat(string(parts[2]), 64)
		if err != nil {
			return text
		}
		wide := labelStyle(size).Width(html.UnescapeString(string(parts[3]))).Points()
		return fmt.Appendf(nil, `<text textLength="%.5g" lengthAdjust="spacingAndGlyphs" %s>%s</text>`, wide, parts[1], parts[3])
	})
}

// FileName is a title as part of a file's name: without blanks, and without
// what would name another directory.
func FileName(title string) string {
	return strings.NewReplacer(" ", "-", "/", "-", `\`, "-", ":", "-").Replace(title)
}
