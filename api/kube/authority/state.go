package authority

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/spazio-scheduler/spazio/field"
)

const day = 24 * time.Hour

// How long authorities and certificates are valid, and how long they are used.
const (
	// authorityLife is the life of an authority, which signs for authorityUse: what it
	// signed last ends long before it does.
	authorityLife, authorityUse = 730 * day, 365 * day
	// leafLife is the life of a certificate, which is replaced after leafUse: the
	// rest is for runs that fail.
	leafLife, leafUse = 90 * day, 60 * day
	// lead is how long an authority is in the bundle before it signs and after the
	// last certificate of its own was replaced. Readers are hours behind at most:
	// a kubelet brings a changed volume within minutes, a connection lasts an hour.
	lead = 7 * day
	// skew is by how much a clock may be behind the one that signs.
	skew = 5 * time.Minute
)

// pair is a certificate and its private key, each as PEM.
type pair struct{ Certificate, Key []byte }

// state is what is stored: any bytes, also none. It is a plain value.
type state struct {
	// Authority signs. Next will, if there is one: Published is when all bundles
	// were first seen to have it, zero if they have not been.
	Authority, Next pair
	Published       time.Time
	// Former are certificates of authorities that are still trusted, as PEM.
	Former []byte
	// Leaves are the certificates by name.
	Leaves map[string]pair
	// Bundles are the authorities that are trusted, as PEM, by the place where they
	// are stored. All are the same.
	Bundles map[string][]byte
}

// wantedLeaf is what a certificate is to be for: servers of these DNS names, and with
// Client clients of them, too.
type wantedLeaf struct {
	Names  []string
	Client bool
}

// serviceNames are the DNS names of a Kubernetes service, shortest first.
func serviceNames(service, namespace, clusterDomain string) []string {
	inNamespace := service + "." + namespace
	return []string{service, inNamespace, inNamespace + ".svc", inNamespace + ".svc." + clusterDomain}
}

// Kinds of changes, in the order in which they have to be stored.
const (
	changeAuthorities = "authorities" // Authority, Next, Published and Former, together
	changeBundle      = "bundle"
	changeLeaf        = "leaf"
)

// Change is something to be stored, and why.
type Change struct {
	Kind   string `json:"kind"`           // authorities, bundle or leaf
	Name   string `json:"name,omitempty"` // of the leaf, or the bundle's place
	Reason string `json:"reason"`
}

// ErrInvalid refuses leaves without names, and names that are not DNS names.
var ErrInvalid = errors.New("invalid configuration or input")

// dnsName is RFC 1123's, at most 253 bytes.
var dnsName = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$`)

// validateLeaves refuses leaves that can't be planned for. Errors are *field.Error.
func validateLeaves(wanted map[string]wantedLeaf) error {
	for _, name := range slices.Sorted(maps.Keys(wanted)) {
		which := "wanted[" + name + "].Names"
		if len(wanted[name].Names) == 0 {
			return &field.Error{Package: "certs", Field: which, Value: wanted[name].Names, Err: fmt.Errorf("%w: a certificate is for a name at least", ErrInvalid)}
		}
		for _, dns := range wanted[name].Names {
			if len(dns) > 253 || !dnsName.MatchString(dns) {
				return &field.Error{Package: "certs", Field: which, Value: dns, Err: fmt.Errorf("%w: not a DNS name", ErrInvalid)}
			}
		}
	}
	return nil
}
