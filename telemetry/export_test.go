package telemetry

// WaitForSpeeds makes samples wait for the speed of a link, however busy the machine is, and
// returns a function that undoes that.
func WaitForSpeeds() (undo func()) {
	before := speedPatience
	speedPatience = alwaysWait
	return func() { speedPatience = before }
}

// ReadKernelFile reads a file as a Reader does, into a buffer that is too small at
// first.
func ReadKernelFile(path string) ([]byte, error) {
	f := newFile(path, 64)
	defer f.close()
	return f.read()
}

// LacksPressure is exported because no file of a test can refuse reads the way the kernel's do.
var LacksPressure = lacksPressure

// These are the parsers that no other package needs.
var (
	ParseMeminfo    = parseMeminfo
	ParseInterfaces = parseInterfaces
	ParseLinkSpeed  = parseLinkSpeed
)

// Meminfo is what ParseMeminfo returns.
type Meminfo = meminfo

// The parsers of a cgroup's files.
var (
	ParseCPUTotals   = parseCPUTotals
	ParseThrottling  = parseThrottling
	ParseMemoryUse   = parseMemoryUse
	ParseMemoryUseV1 = parseMemoryUseV1
	ParseOOMKills    = parseOOMKills
)

var (
	ChannelErrors = channelErrors
)
