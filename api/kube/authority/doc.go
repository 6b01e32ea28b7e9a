// Package authority keeps a private authority and the certificates that it signs in a cluster:
// [Ensure] stores in Secrets and ConfigMaps what is planned.
//
//	Secret spazio-ca        the authority, the next one and the former ones
//	Secret NAME-tls         a server's certificate and key, one for each server
//	ConfigMap spazio-trust  in each namespace, the authorities that are trusted there
//
// The objects exist before it runs, if empty: it gets and updates them by name, and creates none.
// So its rights name each object, and it cannot read another Secret. A concurrent change of an
// object is not overwritten: what is stored is read and planned again.
//
// # Replacement
//
// An authority lives for two years and signs for one. The next one joins the bundle a week before
// it signs, and the former one leaves the bundle a week after the last certificate of its own was
// replaced. A certificate lives for 90 days and is replaced after 60. So a reader of the bundle
// that is at most hours behind never meets a certificate that it does not trust, and runs may fail
// for weeks.
//
//	now:   A signs    | B joins      | B signs, A stays      | A leaves
//	bundle A          | A B          | B A                   | B
//	leaf   of A       | of A         | of A until its 60 days| of B
//
// The plan is pure except for the keys, which crypto/rand makes: it takes what is stored, whatever
// that is, and the time, and returns what should be stored. What it can't read is replaced. While
// there are certificates that are still valid, the replacement of a lost authority also waits for
// the week in which the next one becomes known. Storing the changes in their order may be
// interrupted between any two of them.
//
// Types that do not speak of concurrent use are plain values.
package authority
