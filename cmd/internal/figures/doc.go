// Package figures is the command `spazio figures`: it draws the figures of the
// thesis ("Hands at the Ready: Bringing Pronto to Kubernetes", L. Choteborsky,
// 2025) anew, which it left without data, each from a recording of a real
// machine or from the simulator, and says of each what the thesis claims, what
// is measured, and whether the claim holds.
//
// # Adding a figure
//
// A [Figure] is an entry of a list: the package's own are in thesis.go, and a
// further file adds its own list to [All]. Its Make is a pure function of
// [Params]; what it returns is data alone ([Panel], [Series], [Value]), which
// the package draws as SVG and PNG, writes as CSV and puts into the page.
package figures
