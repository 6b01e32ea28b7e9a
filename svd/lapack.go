package svd

import (
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// lapackDim is the dimension from which LAPACK's Gesvd decomposes the plain
// concatenation instead of the kernel of this package.
const lapackDim = 16

// gesvd decomposes ws.dense by LAPACK. It reports false, with ws.dense
// restored, if the iteration did not converge.
func (ws *Workspace) gesvd() bool {
	d, c := ws.dim, ws.columns
	n := min(d, c)
	a := blas64.General{Rows: d, Cols: c, Stride: c, Data: ws.dense}
	// Row-major d×n, transposed into ws.u below.
	left := blas64.General{Rows: d, Cols: n, Stride: n, Data: ws.factor[:d*n]}
	none := blas64.General{Stride: 1}
	sigma := ws.sigma[:n]

	if ws.lworkDim != d || ws.lworkColumns != c {
		ws.work = resize(ws.work, 1)
		lapack64.Gesvd(lapack.SVDStore, lapack.SVDNone, a, left, none, sigma, ws.work, -1)
		ws.lwork, ws.lworkDim, ws.lworkColumns = int(ws.work[0]), d, c
	}
	// LAPACK destroys its input; the copy at the end of work restores it.
	ws.work = resize(ws.work, ws.lwork+d*c)
	backup := ws.work[ws.lwork:]
	copy(backup, ws.dense)
	if !lapack64.Gesvd(lapack.SVDStore, lapack.SVDNone, a, left, none, sigma, ws.work, ws.lwork) {
		copy(ws.dense, backup)
		return false
	}
	clear(ws.sigma[n:])
	clear(ws.u[n*d:])
	for i := range d {
		for j := range n {
			ws.u[j*d+i] = left.Data[i*n+j]
		}
	}
	if n < d {
		ws.orthonormalise() // completes the basis
	}
	return true
}
