// Package prediction presents how well rejections foretell contention (package
// sim/prediction) and what they do to a scheduler: as tables, pictures, and a page that
// says which claims hold.
//
//	result, err := simulated.Evaluate(sources, 1) // package sim/prediction
//	for _, t := range prediction.Tables(result) {
//		err = t.WriteText(os.Stdout, table.Terminal)
//	}
package prediction
