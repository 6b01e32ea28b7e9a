package ui

import (
	"embed"
	"io/fs"

	"github.com/spazio-scheduler/spazio/web/assets"
)

//go:embed static
var embedded embed.FS

// files are what pages load, from below filesPath.
var files = readFiles()

func readFiles() *assets.Files {
	tree, err := fs.Sub(embedded, "static")
	if err != nil {
		panic(err) // they are in the program
	}
	files, err := assets.Read(tree)
	if err != nil {
		panic(err)
	}
	return files
}

// filesPath is where the files are, with a slash at its end.
func filesPath() string { return Base + "static/" + files.Version() + "/" }
