// Package definitions reads the embedded definitions of custom resources.
package definitions

import "io/fs"

// Read returns the files of directory crd, in the order of their names.
func Read(files fs.FS) ([][]byte, error) {
	names, err := fs.Glob(files, "crd/*")
	if err != nil {
		return nil, err
	}
	all := make([][]byte, len(names))
	for i, name := range names {
		if all[i], err = fs.ReadFile(files, name); err != nil {
			return nil, err
		}
	}
	return all, nil
}
