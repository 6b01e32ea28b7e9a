// Package simulate is the command `spazio simulate`: the experiments of package
// sim/experiment by name, as a table, as rows for machines, and as a report with
// pictures.
package simulate
