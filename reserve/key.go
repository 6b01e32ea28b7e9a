package reserve

// PodKey identifies a pod in reports and in the ledger: the first eight bytes
// of its UID. The UID's remaining half is not carried: of a random UUID's first
// 64 bits 60 are random, four tell its version, so that among n pods alive at
// once two share a key with probability n²/2⁶¹, 4·10⁻⁹ for 100,000 pods.
type PodKey uint64

// FNV-1a, 64 bit (the constants of hash/fnv, written out so that KeyOf does
// not allocate).
const (
	fnvOffset uint64 = 14695981039346656037
	fnvPrime  uint64 = 1099511628211
)

// KeyOf returns the key of a pod's UID. The first 16 hexadecimal digits, dashes
// and underscores ignored, are read big-endian, so that the API's form
// (3f1c0e52-9a7b-…) and that of a systemd cgroup (3f1c0e52_9a7b_…) agree in
// either case. A UID that does not start with 16 such digits is hashed with
// FNV-1a, underscores taken for dashes. KeyOf does not allocate.
func KeyOf(uid string) PodKey {
	var key uint64
	digits := 0
	for i := 0; i < len(uid) && digits < 16; i++ {
		b := uid[i]
		var digit byte
		switch {
		case '0' <= b && b <= '9':
			digit = b - '0'
		case 'a' <= b && b <= 'f':
			digit = b - 'a' + 10
		case 'A' <= b && b <= 'F':
			digit = b - 'A' + 10
		case b == '-' || b == '_':
			continue
		default:
			return hashed(uid)
		}
		key = key<<4 | uint64(digit)
		digits++
	}
	if digits < 16 {
		return hashed(uid)
	}
	return PodKey(key)
}

func hashed(uid string) PodKey {
	hash := fnvOffset
	for i := 0; i < len(uid); i++ {
		b := uid[i]
		if b == '_' {
			b = '-'
		}
		hash = (hash ^ uint64(b)) * fnvPrime
	}
	return PodKey(hash)
}
