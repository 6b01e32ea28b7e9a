package share_test

import (
	"errors"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spazio-scheduler/spazio/energy/share"
)

func TestParseCommand(t *testing.T) {
	for _, c := range []struct {
		args  []string
		name  string
		vcpus int
		ok    bool
	}{
		{[]string{"/usr/bin/qemu-system-x86_64", "-name", "guest=vm1,debug-threads=on", "-S", "-smp", "4,sockets=4,cores=1,threads=1"}, "vm1", 4, true},
		{[]string{"/opt/kata/bin/qemu-system-x86_64", "-name", "sandbox-3f2a,debug-threads=on", "-smp", "1,cores=1,threads=1,sockets=8,maxcpus=8"}, "sandbox-3f2a", 1, true},
		{[]string{"/usr/bin/qemu-lite-system-x86_64", "-name", "sandbox-3f2a"}, "sandbox-3f2a", 1, true},
		{[]string{"/usr/bin/qemu-img", "-name", "disk"}, "", 0, false},
		{[]string{"qemu-system-aarch64", "-name", "vm2", "-m", "512"}, "vm2", 1, true},
		{[]string{"/usr/libexec/qemu-kvm", "-smp", "cpus=2,maxcpus=8", "-name", "debug-threads=on,guest=a.b_c-d"}, "a.b_c-d", 2, true},
		{[]string{"qemu-system-x86_64", "-smp", "sockets=2,cores=3,threads=2", "--name", "guest=x"}, "x", 12, true},
		{[]string{"kvm", "-smp", "maxcpus=8", "-name", "guest=y"}, "y", 1, true},
		{[]string{"qemu-system-x86_64", "-name", "guest=../x", "-smp", "1"}, "../x", 1, true},
		{[]string{"qemu-system-x86_64", "-name", "guest=a,,b,debug-threads=on", "-smp", "1"}, "a,b", 1, true},
		{[]string{"qemu-system-x86_64", "-name", "a,,,,b,,,debug-threads=on"}, "a,,b,", 1, true},
		{[]string{"qemu-system-x86_64", "-name", "guest=z", "-smp", "0"}, "z", 1, true},
		{[]string{"qemu-system-x86_64", "-name", "guest=z", "-smp", "-3,cores=99999999999999999999"}, "z", 1, true},
		{[]string{"qemu-system-x86_64", "-name", "guest=z", "-smp", "sockets=4096,cores=4096"}, "z", 4096, true},
		{[]string{"qemu-system-x86_64", "-name", "guest="}, "", 1, false},
		{[]string{"qemu-system-x86_64", "-name"}, "", 1, false},
		{[]string{"qemu-system-x86_64"}, "", 1, false},
		{[]string{"qemu-system-x86_64", "name", "vm1"}, "", 1, false},
		{[]string{"qemu-img", "-name", "guest=vm1"}, "", 0, false},
		{[]string{"vi", "/usr/bin/qemu-system-x86_64", "-name", "guest=vm1"}, "", 0, false},
		{[]string{""}, "", 0, false},
	} {
		name, vcpus, ok := share.ParseCommand([]byte(strings.Join(c.args, "\x00") + "\x00"))
		if name != c.name || vcpus != c.vcpus || ok != c.ok {
			t.Errorf("%q: %q, %d, %v", c.args, name, vcpus, ok)
		}
	}
}

func TestParseScope(t *testing.T) {
	for dir, want := range map[string]string{
		`machine-qemu\x2d3\x2dvm1.scope`:               "vm1",
		`machine-qemu\x2d12\x2dweb\x2d1.example.scope`: "web-1.example",
		`machine-qemu-3-vm1.scope`:                     "vm1",
		`machine-qemu\x2dhand.scope`:                   "hand",
		`qemu-7-db-2.libvirt-qemu`:                     "db-2",
		`machine-qemu\x2d3\x2d..\x2fx.scope`:           "../x",
		`machine-qemu\x2.scope`:                        "",
		`machine-lxc\x2d3\x2dc.scope`:                  "",
		`machine-qemu\x2d.scope`:                       "",
		`machine.slice`:                                "",
		`qemu-7-db`:                                    "",
		`session-1.scope`:                              "",
	} {
		if name, ok := share.ParseScope(dir); name != want || ok != (want != "") {
			t.Errorf("%s: %q, %v, want %q", dir, name, ok, want)
		}
	}
}

func TestParseUsage(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"usage_usec 1500000\nuser_usec 1\nsystem_usec 2\n": 1500 * time.Millisecond,
		"nr_periods 1\nusage_usec 7\n":                     7 * time.Microsecond,
		"123456789\n":                                      123456789,
		"0":                                                0,
	} {
		if got, err := share.ParseUsage([]byte(text)); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "\n", "-1\n", "usage_usec\n", "usage_usec 99999999999999999\n", "user 1\nsystem 2\n", "9223372036854775808\n"} {
		if got, err := share.ParseUsage([]byte(text)); !errors.Is(err, share.ErrMalformed) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

var plain = regexp.MustCompile(`\A[A-Za-z0-9._-]{1,128}\z`)

// FuzzCheckName against a regular expression; what passes is one element of a path.
func FuzzCheckName(f *testing.F) {
	for _, s := range []string{"vm1", "", ".", "..", "../x", "a/b", "a\x00", "a\n", "ä", strings.Repeat("x", 128), strings.Repeat("x", 129), "...", "-rf"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		err := share.CheckName(name)
		if want := plain.MatchString(name) && name != "." && name != ".."; (err == nil) != want || err != nil && !errors.Is(err, share.ErrName) {
			t.Errorf("%q: %v", name, err)
		}
	})
}

// FuzzParseCommand: the result is in the command line, except for doubled commas, and has at least
// one virtual CPU.
func FuzzParseCommand(f *testing.F) {
	f.Add([]byte("qemu-system-x86_64\x00-name\x00guest=vm1\x00-smp\x004,cores=2\x00"))
	f.Add([]byte("kvm\x00-name\x00vm\x00-smp\x00cores=2,threads=x\x00"))
	f.Add([]byte("kvm\x00-name\x00guest=a,,b,,,x\x00"))
	f.Add([]byte("\x00\x00-name"))
	f.Fuzz(func(t *testing.T, line []byte) {
		name, vcpus, ok := share.ParseCommand(line)
		if !ok {
			return
		}
		if name == "" || !strings.Contains(strings.ReplaceAll(string(line), ",,", ","), name) || vcpus < 1 || vcpus > 4096 || strings.Contains(name, "\x00") {
			t.Errorf("%q: %q, %d", line, name, vcpus)
		}
	})
}

// stat parses /proc/PID/stat by a regular expression, from the name's end on.
var stat = regexp.MustCompile(`\A\s*(\S)(?:\s+\S+){10}\s+\+?(\d+)\s+\+?(\d+)(?:\s+\S+){6}\s+\+?(\d+)(?:\s(?s:.*))?\z`)

// FuzzParseStat compares with that.
func FuzzParseStat(f *testing.F) {
	f.Add([]byte("7 (qemu-system-x86) S 1 7 7 0 -1 4194560 1 2 3 4 150 50 0 0 20 0 5 0 12345 1 2 3\n"))
	f.Add([]byte("7 (a) Z 1) R (b) S 1 7 7 0 -1 4194560 1 2 3 4 150 18446744073709551615 0 0 20 0 5 0 12345 1\n"))
	f.Add([]byte("7 (a) Z"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, c := range text {
			if c >= 0x80 || c == '+' || c == '\v' {
				return // other blanks, and a sign that ParseUint does not take
			}
		}
		cpu, start, ended, err := share.ParseStat(text)
		m := stat.FindSubmatch(text[strings.LastIndex(string(text), ")")+1:])
		var numbers [3]big.Int
		ok := m != nil
		for i := 0; ok && i < 3; i++ {
			numbers[i].SetString(string(m[i+2]), 10)
		}
		sum := new(big.Int).Add(&numbers[0], &numbers[1])
		sum.Mul(sum, big.NewInt(int64(10*time.Millisecond)))
		ok = ok && sum.IsInt64() && numbers[2].IsUint64()
		if ok != (err == nil) {
			t.Fatalf("%q: %v, want %v", text, err, ok)
		}
		if ok && (int64(cpu) != sum.Int64() || start != numbers[2].Uint64() || ended != strings.Contains("ZXx", string(m[1]))) {
			t.Errorf("%q: %v, %d, %v", text, cpu, start, ended)
		}
	})
}
