// Package prediction presents how well rejections foretell contention (package
// sim/prediction) and what they do to a scheduler: as tables, pictures, and a page that
// says which claims hold.
package prediction
