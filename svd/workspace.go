package svd

import "math"

// Workspace holds the buffers of the To forms, which do not allocate once it
// has grown to the size of the problem. The zero value is ready for use. A
// Workspace must not be used by two goroutines at the same time.
type Workspace struct {
	dim, columns int

	// The matrix to decompose is basis·[diag(diag) dense], where basis is d×d,
	// column-major and orthonormal, and dense d×columns, row-major. If there
	// is no basis it is joined, d×columns, column-major.
	basis  []float64
	diag   []float64
	dense  []float64
	joined []float64

	factor []float64 // d×d, column-major: a lower triangle, then J·Σ
	u      []float64 // d×d, column-major
	sigma  []float64
	order  []int
	norms  []float64 // scratch of the kernel

	// Of a centred model, each of length d: the mean, empty otherwise, the
	// column that corrects for the distance of two means, and the mean of the
	// samples.
	mean, shift, sample []float64
}

// prepare sizes the buffers for a d×columns matrix and forgets the basis.
func (ws *Workspace) prepare(dim, columns int) {
	ws.dim, ws.columns = dim, columns
	ws.basis = nil
	ws.diag = resize(ws.diag, dim)
	clear(ws.diag)
	ws.dense = resize(ws.dense, dim*columns)
	ws.joined = resize(ws.joined, dim*columns)
	ws.factor = resize(ws.factor, dim*dim)
	ws.u = resize(ws.u, dim*dim)
	ws.sigma = resize(ws.sigma, dim)
	ws.norms = resize(ws.norms, dim)
	if cap(ws.order) < dim {
		ws.order = make([]int, dim)
	}
	ws.order = ws.order[:dim]
}

// warm reports whether m's own vectors can serve as the basis: they span ℝ^d, so
// nothing of a projected column is lost.
func warm(m Model) bool { return len(m.sigma) == m.dim }

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

// appendModel makes f·UΣ the columns of the matrix from first on.
func (ws *Workspace) appendModel(m Model, f float64, first int) {
	for j, sigma := range m.sigma {
		ws.appendColumn(first+j, f*sigma, m.column(j))
	}
}

// appendColumn makes f·x column j of the matrix.
func (ws *Workspace) appendColumn(j int, f float64, x []float64) {
	if ws.basis == nil {
		ws.place(j, f, x)
		return
	}
	d, c := ws.dim, ws.columns
	for i := range d {
		ws.dense[i*c+j] = f * dot(x, ws.basis[i*d:(i+1)*d])
	}
}

// appendSamples makes f·A the columns of the matrix from first on.
func (ws *Workspace) appendSamples(samples [][]float64, f float64, first int) {
	d, c := ws.dim, ws.columns
	if ws.basis == nil {
		for j, y := range samples {
			ws.place(first+j, f, y)
		}
		return
	}
	for i := range d {
		u := ws.basis[i*d : (i+1)*d]
		row := ws.dense[i*c+first : (i+1)*c]
		row = row[:len(samples)]
		for j, y := range samples {
			row[j] = f * dot(u, y)
		}
	}
}

// place makes f·x column j of the joined matrix.
func (ws *Workspace) place(j int, f float64, x []float64) {
	column := ws.joined[j*ws.dim : (j+1)*ws.dim]
	for i, v := range x {
		column[i] = f * v
	}
}

// decompose leaves the left singular vectors in ws.u and the singular values,
// descending, in ws.sigma; unit is the factor that undoes the scaling of the
// columns.
func (ws *Workspace) decompose(unit float64) {
	ws.jacobi()
	ws.orient()
	if unit != 1 {
		scale(unit, ws.sigma)
	}
}

// store writes the leading rank vectors and values to dst's own storage; with
// the energy of the others the residual is complete. It is the first write to
// dst, which may therefore share storage with operands.
func (ws *Workspace) store(dst *Model, rank, block int, mass, residual float64) {
	u, sigma := resize(dst.u, ws.dim*rank), resize(dst.sigma, rank)
	copy(u, ws.u)
	copy(sigma, ws.sigma)
	if rank < ws.dim || residual > 0 {
		residual = min(residual+energy(ws.sigma[rank:]), maxEnergy(ws.dim, block))
	}
	next := Model{dim: ws.dim, block: block, mass: mass, u: u, sigma: sigma, residual: residual}
	if len(ws.mean) > 0 {
		next.mean = resize(dst.mean, ws.dim)
		copy(next.mean, ws.mean)
		ws.mean = ws.mean[:0]
	}
	*dst = next
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
