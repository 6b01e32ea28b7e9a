// Package authority keeps a private authority and the certificates that it signs in
// a cluster: [Ensure] stores in Secrets and ConfigMaps what package api/certs plans.
//
//	Secret spazio-ca        the authority, the next one and the former ones
//	Secret NAME-tls         a server's certificate and key, one for each server
//	ConfigMap spazio-trust  in each namespace, the authorities that are trusted there
//
// The objects are there before it, if empty: it gets and updates them by name, and
// creates none. So its rights name each object, and no other Secret is within its
// reach. Whoever else changes an object meanwhile is not overwritten: what is stored is
// read and planned again.
//
// Types that do not speak of concurrent use are plain values.
package authority
