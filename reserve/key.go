package reserve

import (
	"encoding/binary"
	"encoding/hex"
	"hash/fnv"
	"strings"
)

// PodKey identifies a pod in reports and in the ledger: the first eight bytes
// of its UID. The UID's remaining half is not carried: of a random UUID's first
// 64 bits 60 are random and four are its version, so that among n pods alive at
// once two share a key with probability n²/2⁶¹, 4·10⁻⁹ for 100,000 pods.
type PodKey uint64

// KeyOf returns the key of a pod's UID. The first 16 hexadecimal digits, dashes
// and underscores ignored, are read big-endian, so that the API's form
// (3f1c0e52-9a7b-…) and that of a systemd cgroup (3f1c0e52_9a7b_…) agree in
// either case. A UID that does not start with 16 such digits is hashed with
// FNV-1a, underscores taken for dashes. KeyOf does not allocate for such a UID as the API gives.
func KeyOf(uid string) PodKey {
	var digits [16]byte
	n := 0
	for i := 0; i < len(uid) && n < len(digits); i++ {
		if uid[i] != '-' && uid[i] != '_' {
			digits[n] = uid[i]
			n++
		}
	}
	var key [8]byte
	if n == len(digits) {
		if _, err := hex.Decode(key[:], digits[:]); err == nil {
			return PodKey(binary.BigEndian.Uint64(key[:]))
		}
	}
	hash := fnv.New64a()
	hash.Write([]byte(strings.ReplaceAll(uid, "_", "-")))
	return PodKey(hash.Sum64())
}
