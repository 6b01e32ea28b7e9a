module github.com/spazio-scheduler/spazio/sim

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	gonum.org/v1/gonum v0.17.0
)

require (
	golang.org/x/term v0.47.0
	golang.org/x/text v0.43.0
	gonum.org/v1/plot v0.17.0
)

require golang.org/x/sys v0.49.0 // indirect

require (
	codeberg.org/go-fonts/liberation v0.5.0 // indirect
	codeberg.org/go-latex/latex v0.2.0 // indirect
	codeberg.org/go-pdf/fpdf v0.11.1 // indirect
	git.sr.ht/~sbinet/gg v0.7.0 // indirect
	github.com/ajstarks/svgo v0.0.0-20211024235047-1546f124cd8b // indirect
	github.com/golang/freetype v0.0.0-20170609003504-e2365dfdc4a0 // indirect
	github.com/spazio-scheduler/spazio v0.1.0
	github.com/spazio-scheduler/spazio/aggregate v0.1.0
	github.com/spazio-scheduler/spazio/capacity v0.1.0
	github.com/spazio-scheduler/spazio/filter v0.1.0
	github.com/spazio-scheduler/spazio/kalman v0.1.0
	github.com/spazio-scheduler/spazio/reserve v0.1.0
	github.com/spazio-scheduler/spazio/svd v0.1.0
	golang.org/x/image v0.30.0 // indirect
)

replace (
	github.com/spazio-scheduler/spazio => ..
	github.com/spazio-scheduler/spazio/aggregate => ../aggregate
	github.com/spazio-scheduler/spazio/api => ../api
	github.com/spazio-scheduler/spazio/capacity => ../capacity
	github.com/spazio-scheduler/spazio/filter => ../filter
	github.com/spazio-scheduler/spazio/kalman => ../kalman
	github.com/spazio-scheduler/spazio/reserve => ../reserve
	github.com/spazio-scheduler/spazio/svd => ../svd
)
