// Package certs plans how a private authority and the certificates that it signs
// are replaced, so that at no time anybody meets a certificate that the bundle
// he has does not vouch for.
//
// An authority lives for two years and signs for one. The next one joins the
// bundle a week before it signs, and the former one leaves the bundle a week
// after the last certificate of its own was replaced. A certificate lives for 90
// days and is replaced after 60. So whoever reads the bundle within hours is
// never behind, and runs may fail for weeks.
//
//	now:   A signs    | B joins      | B signs, A stays      | A leaves
//	bundle A          | A B          | B A                   | B
//	leaf   of A       | of A         | of A until its 60 days| of B
//
// Plan is pure but for the keys, which crypto/rand makes: it takes what is
// stored, whatever that is, and the time, and returns what should be stored. It
// knows neither Kubernetes nor files. What it can't read is replaced; while
// there are certificates that still hold, also the loss of the authority's key
// waits for the week in which the next one becomes known. Who stores the result
// in the order of the changes may be interrupted between any two of them.
//
//	next, changes, err := certs.Plan(wanted, stored, time.Now())
//
// and then store what of next each change names. Package api/kube/authority does so
// with Secrets of a cluster.
//
// Types that do not speak of concurrent use are plain values.
package certs
