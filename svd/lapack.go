package svd

import (
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// lapackDim is the dimension from which LAPACK's Gesvd decomposes the plain
// concatenation instead of the kernel of this package. By BenchmarkRatio, at
// b = 10, the kernel is 1.16 times as fast at d = 11 and .94 times at d = 12.
const lapackDim = 12

// gesvd decomposes the joined matrix by LAPACK, which is given the transpose:
// its rows are the columns at hand, and its right singular vectors come as
// rows, which are the columns of U. It reports false if the iteration did not
// converge; the matrix is intact in any case.
func (ws *Workspace) gesvd() bool {
	d, c := ws.dim, ws.columns
	n := min(d, c)
	// LAPACK destroys its input.
	copy(ws.dense, ws.joined)
	a := blas64.General{Rows: c, Cols: d, Stride: d, Data: ws.dense}
	right := blas64.General{Rows: n, Cols: d, Stride: d, Data: ws.u[:n*d]}
	none := blas64.General{Stride: 1}
	sigma := ws.sigma[:n]

	if ws.workDim != d || ws.workColumns != c {
		ws.work = resize(ws.work, 1)
		lapack64.Gesvd(lapack.SVDNone, lapack.SVDStore, a, none, right, sigma, ws.work, -1)
		ws.work = resize(ws.work, int(ws.work[0]))
		ws.workDim, ws.workColumns = d, c
	}
	if !lapack64.Gesvd(lapack.SVDNone, lapack.SVDStore, a, none, right, sigma, ws.work, len(ws.work)) {
		return false
	}
	if n < d {
		clear(ws.sigma[n:])
		clear(ws.u[n*d:])
		ws.orthonormalise() // completes the basis
	}
	return true
}
