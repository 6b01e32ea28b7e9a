// Package report draws charts and writes pages, and is the root of the packages that present runs of
// the simulator (sim) and recordings of agents (agent/recording). They decide nothing and know
// nothing of Kubernetes.
//
//   - text: tables that fit a terminal, CSV and JSON
//   - comparison: schedulers, constants, rejections, recommenders and tuners compared
//   - figures: the thesis's figures from recordings and the simulator
//
// A [Chart] is panels of data one above the other, each with its legend beside it, as SVG or PNG:
//
//	c := report.Chart{Panels: []report.Panel{{
//		Title: "pods",
//		X:     report.Axis{Label: "seconds"},
//		Series: []report.Series{{Name: "running", Style: report.Steps, Points: points}},
//	}}}
//	err := c.WriteFile("pods.svg")
//
// Names of series and marks are words for a reader: they are wrapped to the legend's width, and a
// legend longer than its panel makes the panel higher, so that all of it is within the canvas and
// none of it over the data. [DotPlot] lays out a panel of rows with dots. Drawing does not change a
// Chart.
//
// A [Page] has headings, paragraphs, tables and pictures, as Markdown or HTML.
//
// The same input gives the same bytes. Errors about input are a [*field.Error]. Types are plain values
// unless they say otherwise.
package report
