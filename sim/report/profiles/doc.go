// Package profiles presents how recommenders fared on recorded series (package
// profile/replay): a table of each at its own setting, and curves of overhead over
// quality.
//
//	result, err := profiles.Run(ctx, series, replay.Options{Part: replay.HeldOut})
//	err = result.Table().WriteText(os.Stdout, table.Terminal)
//	err = result.Save("curves.svg")
package profiles
