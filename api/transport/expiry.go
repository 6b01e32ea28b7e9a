package transport

import (
	"crypto/x509"
	"encoding/pem"
	"os"
	"time"
)

// NotAfter returns when the certificates in the files end: "own" is the certificate
// that this process presents, "servers" and "clients" those authorities of
// either that end first. What can't be read is left out.
func (c Config) NotAfter() map[string]time.Time {
	ends := map[string]time.Time{}
	for use, file := range map[string]string{"own": c.CertFile, "servers": c.CAFile, "clients": c.ClientCAFile} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
			certificate, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				continue
			}
			if end, ok := ends[use]; !ok || certificate.NotAfter.Before(end) {
				ends[use] = certificate.NotAfter
			}
		}
	}
	return ends
}
