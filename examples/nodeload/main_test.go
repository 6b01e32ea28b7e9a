package main

import "os"

func Example() {
	if err := run(os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// usage [0.41 0.21], typical load [0.41 0.21]: k = 1.45, limited by cpu
	// usage [0.60 0.28], typical load [0.55 0.26]: k = 0.73, limited by cpu
}
