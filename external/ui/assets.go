package ui

import (
	"embed"

	"github.com/spazio-scheduler/spazio/web"
)

//go:embed static
var embedded embed.FS

// files are what pages load, from below filesPath.
var files = readFiles()

func readFiles() *web.Files {
	files, err := web.ReadFiles(embedded, "static")
	if err != nil {
		panic(err) // they are in the program
	}
	return files
}

// filesPath is where the files are, with a slash at its end.
func filesPath() string { return Base + "static/" + files.Version() + "/" }
