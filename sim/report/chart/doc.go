// Package chart draws panels of data one above the other, each with its legend
// beside it, as SVG or PNG. What is drawn is plain data:
//
//	c := chart.Chart{Panels: []chart.Panel{{
//		Title: "pods",
//		X:     chart.Axis{Label: "seconds"},
//		Series: []chart.Series{{Name: "running", Style: chart.Steps, Points: points}},
//	}}}
//	err := c.WriteFile("pods.svg")
//
// Names of series and marks are words for a reader: they are wrapped to the
// legend's width, and a legend longer than its panel makes the panel higher, so
// that all of it is within the canvas and none of it over the data. [DotPlot] lays
// out a panel of rows with dots.
//
// A Chart is not changed by drawing. All types are plain values; drawing the
// same one from several goroutines is safe while nobody writes to it.
package chart
