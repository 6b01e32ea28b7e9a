// Package page writes reports of headings, paragraphs, tables and pictures, as
// Markdown or HTML.
//
// Types that do not speak of concurrent use are plain values.
package page

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spazio-scheduler/spazio/sim/report"
	"github.com/spazio-scheduler/spazio/sim/report/table"
)

// Page is a report being written. It is not safe for concurrent use.
type Page interface {
	Heading(level int, text string)
	Paragraph(text string)
	Table(t table.Table)
	Picture(p Picture)
	// Bytes is the page so far, Files what belongs beside it.
	Bytes() []byte
	Files() []File
}

// Picture is an SVG. HTML has it within the page, Markdown as the file beside it.
type Picture struct {
	Name, Caption, File string
	SVG                 []byte
}

// File is one with its name.
type File struct {
	Name string
	Data []byte
}

// CheckFile says whether New takes the path; the error is a *field.Error.
func CheckFile(path string) error {
	if extension := filepath.Ext(path); extension != ".html" && extension != ".md" {
		return report.Refuse("path", path, "a file ending in .html or .md")
	}
	return nil
}

// New returns a page for a file, by its ending .html or .md, with the title as
// its first heading.
func New(path, title string) (Page, error) {
	if err := CheckFile(path); err != nil {
		return nil, err
	}
	var p Page = &Markdown{}
	if filepath.Ext(path) == ".html" {
		p = &HTML{Title: title}
	}
	p.Heading(1, title)
	return p, nil
}

// Save writes the page to the path and its files beside it.
func Save(path string, p Page) error {
	for _, f := range append(p.Files(), File{filepath.Base(path), p.Bytes()}) {
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), filepath.Base(f.Name)), f.Data, 0o644); err != nil {
			return fmt.Errorf("write the page: %w", err)
		}
	}
	return nil
}
