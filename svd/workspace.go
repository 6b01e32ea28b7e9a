package svd

import "math"

// Workspace holds the buffers of the To forms, which do not allocate once it
// has grown to the size of the problem. The zero value is ready for use. A
// Workspace must not be used by two goroutines at the same time.
type Workspace struct {
	dim, columns int

	// The matrix to decompose is basis·[diag(diag) dense]. Basis is d×d,
	// column-major and orthonormal, nil for the identity; dense is row-major.
	basis []float64
	diag  []float64
	dense []float64

	factor []float64 // d×d, column-major: a lower triangle, then J·Σ
	u      []float64 // d×d, column-major
	sigma  []float64
	order  []int
	norms  []float64 // scratch of the kernel

	// Scratch of LAPACK: its length lwork holds for the dimensions beside it,
	// a copy of the input follows.
	work                          []float64
	lwork, lworkDim, lworkColumns int
}

// prepare sizes the buffers for a d×columns matrix and forgets the basis.
func (ws *Workspace) prepare(dim, columns int) {
	ws.dim, ws.columns = dim, columns
	ws.basis = nil
	ws.diag = resize(ws.diag, dim)
	clear(ws.diag)
	ws.dense = resize(ws.dense, dim*columns)
	ws.factor = resize(ws.factor, dim*dim)
	ws.u = resize(ws.u, dim*dim)
	ws.sigma = resize(ws.sigma, dim)
	ws.norms = resize(ws.norms, dim)
	if cap(ws.order) < dim {
		ws.order = make([]int, dim)
	}
	ws.order = ws.order[:dim]
}

// warm says that m's own vectors can serve as the basis: they span ℝ^d, so
// nothing of a projected column is lost, and d is small enough for the kernel.
func warm(m Model) bool { return len(m.sigma) == m.dim && m.dim < lapackDim }

// begin starts the matrix [f·UΣ …] with room for extra columns after the
// model. It returns the index of the first of them.
func (ws *Workspace) begin(m Model, f float64, extra int) int {
	if warm(m) {
		ws.prepare(m.dim, extra)
		ws.basis = m.u
		for i, s := range m.sigma {
			ws.diag[i] = f * s
		}
		return 0
	}
	ws.prepare(m.dim, extra+len(m.sigma))
	ws.appendModel(m, f, 0)
	return len(m.sigma)
}

// appendModel sets the columns from j on to f·UΣ.
func (ws *Workspace) appendModel(m Model, f float64, j int) {
	for i, s := range m.sigma {
		ws.set(j+i, f*s, m.column(i))
	}
}

// set makes a·x column j of the matrix, stated in the basis.
func (ws *Workspace) set(j int, a float64, x []float64) {
	d, c := ws.dim, ws.columns
	if ws.basis == nil {
		for i, v := range x {
			ws.dense[i*c+j] = a * v
		}
		return
	}
	for i := range d {
		ws.dense[i*c+j] = a * dot(x, ws.basis[i*d:(i+1)*d])
	}
}

// decompose leaves the left singular vectors in ws.u and the singular values,
// descending, in ws.sigma; unit is the factor that undoes the scaling of the
// columns.
func (ws *Workspace) decompose(unit float64) {
	if ws.dim < lapackDim || !ws.gesvd() {
		ws.jacobi()
	}
	ws.orient()
	if unit != 1 {
		scale(unit, ws.sigma)
	}
}

// store writes the leading rank vectors and values to dst's own storage. It
// is the first write to dst, which may therefore share storage with operands.
func (ws *Workspace) store(dst *Model, rank, block int, mass float64) {
	u, sigma := resize(dst.u, ws.dim*rank), resize(dst.sigma, rank)
	copy(u, ws.u)
	copy(sigma, ws.sigma)
	*dst = Model{dim: ws.dim, block: block, mass: mass, u: u, sigma: sigma}
	ws.basis = nil
}

// balance returns a power of two that brings magnitudes of about largest near
// 1, and its inverse. Ordinary magnitudes are left alone: their squares
// neither overflow nor underflow.
func balance(largest float64) (factor, inverse float64) {
	const low, high = 0x1p-200, 0x1p+200
	if largest == 0 || largest >= low && largest <= high {
		return 1, 1
	}
	_, e := math.Frexp(largest)
	e = max(e, -1000) // 2^-e must stay finite
	return math.Ldexp(1, -e), math.Ldexp(1, e)
}
