module github.com/spazio-scheduler/spazio/pronto

go 1.24.0

require (
	github.com/google/go-cmp v0.7.0
	github.com/spazio-scheduler/spazio/svd v0.1.0
	gonum.org/v1/gonum v0.17.0
)

replace github.com/spazio-scheduler/spazio/svd => ../svd
