package svd

// dot returns xᵀy for len(y) ≥ len(x). Two partial sums halve the chain of
// dependent additions, which bounds the speed of short vectors.
func dot(x, y []float64) float64 {
	y = y[:len(x)]
	var even, odd float64
	for len(x) >= 2 && len(y) >= 2 {
		even += x[0] * y[0]
		odd += x[1] * y[1]
		x, y = x[2:], y[2:]
	}
	if len(x) > 0 && len(y) > 0 {
		even += x[0] * y[0]
	}
	return even + odd
}

// axpy adds a·x to y, for len(y) ≥ len(x).
func axpy(a float64, x, y []float64) {
	y = y[:len(x)]
	for i, v := range x {
		y[i] += a * v
	}
}

func scale(a float64, x []float64) {
	for i := range x {
		x[i] *= a
	}
}

func sum(x []float64) float64 {
	var s float64
	for _, v := range x {
		s += v
	}
	return s
}
