// Package figures draws the figures of the thesis ("Hands at the Ready: Bringing
// Pronto to Kubernetes", L. Choteborsky, 2025) anew, which it left without data,
// each from a recording of a real machine or from the simulator, and says of each
// what the thesis claims, what is measured, and whether the claim holds.
//
//	chosen, err := figures.ByID("4.6", "4.7")
//	album, err := figures.Make(ctx, chosen, figures.Params{Seed: 1}, nil)
//	err = album.Save("figures")
//
// # Adding a figure
//
// A [Figure] is an entry of a list: the package's own are in thesis.go, and a
// further file adds its own list to [All]. Its Make is a pure function of
// [Params]; what it returns is data alone, which package chart draws.
//
// Types that do not speak of concurrent use are plain values.
package figures
