// Package report is the root of a module that presents: runs of the simulator
// (sim) and recordings of agents (agent/recording), as tables, charts and pages.
// It decides nothing and knows nothing of Kubernetes.
//
//   - table: rows in columns that fit a terminal
//   - screen: what changes, in place on a terminal
//   - chart: panels of lines, dots and bands with their legends, as SVG and PNG
//   - page: headings, paragraphs, tables and pictures, as Markdown or HTML
//   - ratio: the ratio of paired measurements with its interval
//   - comparison: schedulers compared, and what each constant is worth
//   - figures: the thesis's figures from recordings and the simulator
//   - figures/measured: the format of those recordings of a machine
//   - prediction: rejections held against the contention that follows
//   - profiles: recommenders of requests compared on recorded series
//   - schedulers: schedulers measured on real processes, compared in pairs
//   - replay: an agent's recording replayed, summed up and drawn
//   - tuning: services whose requests a profiler corrects, as a table and a picture
//   - live: tables that change on a whole terminal, with the reader's place kept
//
// The same input gives the same bytes. Errors about input are a [*field.Error].
package report
