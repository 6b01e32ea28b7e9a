package authority

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"slices"
	"time"
)

// holder is a certificate whose key is there.
type holder struct {
	pair        pair
	certificate *x509.Certificate
	key         crypto.Signer
}

// read returns nil unless the key is the certificate's.
func read(p pair) *holder {
	pair, err := tls.X509KeyPair(p.Certificate, p.Key)
	if err != nil {
		return nil
	}
	key, ok := pair.PrivateKey.(crypto.Signer)
	if !ok {
		return nil
	}
	return &holder{p, pair.Leaf, key}
}

// readAuthority returns nil unless the pair can sign certificates at a time.
func readAuthority(p pair, now time.Time) *holder {
	h := read(p)
	if h == nil || !vouches(h.certificate, now) {
		return nil
	}
	return h
}

// vouches reports whether a certificate is an authority's and in force.
func vouches(c *x509.Certificate, now time.Time) bool {
	return c.BasicConstraintsValid && c.IsCA && c.KeyUsage&x509.KeyUsageCertSign != 0 &&
		!now.Before(c.NotBefore) && now.Before(c.NotAfter) && c.CheckSignatureFrom(c) == nil
}

// readAll returns the authorities in force among PEM blocks; it skips
// all others.
func readAll(text []byte, now time.Time) (all []*x509.Certificate) {
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return all
		}
		if c, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == "CERTIFICATE" && vouches(c, now) {
			all = append(all, c)
		}
	}
}

func encode(certificates ...*x509.Certificate) (text []byte) {
	for _, c := range certificates {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return text
}

// has reports whether one of the certificates is c.
func has(certificates []*x509.Certificate, c *x509.Certificate) bool {
	return slices.ContainsFunc(certificates, c.Equal)
}

// newAuthority makes one that begins now.
func newAuthority(now time.Time) (*holder, error) {
	return issue(nil, &x509.Certificate{
		Subject:               pkix.Name{CommonName: "spazio authority " + now.UTC().Format(time.DateOnly)},
		NotBefore:             now.Add(-skew),
		NotAfter:              now.Add(authorityLife),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
		BasicConstraintsValid: true,
		IsCA:                  true,
		MaxPathLenZero:        true,
	})
}

// newLeaf makes a certificate that begins now.
func newLeaf(by *holder, l wantedLeaf, now time.Time) (*holder, error) {
	return issue(by, &x509.Certificate{
		Subject:     pkix.Name{CommonName: commonName(l.Names[0])},
		DNSNames:    l.Names,
		NotBefore:   now.Add(-skew),
		NotAfter:    now.Add(leafLife),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: l.usages(),
	})
}

// commonName cuts a name to the 64 bytes of a common name, by which no client verifies.
func commonName(name string) string { return name[:min(len(name), 64)] }

func (l wantedLeaf) usages() []x509.ExtKeyUsage {
	if l.Client {
		return []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	}
	return []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
}

// issue signs a template with a new key; without an authority by that key itself.
func issue(by *holder, template *x509.Certificate) (*holder, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	parent, signer := template, crypto.Signer(key)
	if by != nil {
		parent, signer = by.certificate, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		return nil, err
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return &holder{
		pair:        pair{Certificate: encode(certificate), Key: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})},
		certificate: certificate, key: key,
	}, nil
}

func (p pair) equal(q pair) bool {
	return bytes.Equal(p.Certificate, q.Certificate) && bytes.Equal(p.Key, q.Key)
}
