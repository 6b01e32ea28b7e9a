package figures

// recording is what one call of the recorder measured.
type recording struct {
	Machine machine       `json:"machine"`
	Runs    []measuredRun `json:"runs"`
}

// machine describes where and when.
type machine struct {
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"`
	// Memory is MemTotal in bytes.
	Memory float64 `json:"memory"`
	Kernel string  `json:"kernel"`
	// Runtime is the container runtime and its version, if one took part.
	Runtime string `json:"runtime,omitempty"`
	// Day is the date, as in 2006-01-02.
	Day string `json:"day"`
}

// measuredRun is one load.
type measuredRun struct {
	// Load names what the workers do, Workers is how many run at once.
	Load    string `json:"load"`
	Workers int    `json:"workers"`

	// Each has one entry per sample; see the package's documentation.
	At          []float64 `json:"at"`
	Utilisation []float64 `json:"utilisation"`
	Pressure    []float64 `json:"pressure"`
	Avg10       []float64 `json:"avg10"`
	Memory      []float64 `json:"memory"`

	// Jobs are the pieces of work, in the order of their ends.
	Jobs []job `json:"jobs,omitempty"`
	// Marks are notable moments, in order.
	Marks []mark `json:"marks,omitempty"`
}

// job is one process from before its start to its end, in seconds from the run's start.
type job struct {
	// Batch counts the groups of jobs that start together.
	Batch int     `json:"batch"`
	Start float64 `json:"start"`
	End   float64 `json:"end"`
	// CPU is its CPU time in seconds.
	CPU float64 `json:"cpu"`
}

// mark is a notable moment, in seconds from the run's start. With Pod ≥ 0 it belongs to the run's pod
// of this number.
type mark struct {
	Name string  `json:"name"`
	At   float64 `json:"at"`
	Pod  int     `json:"pod"`
}
