package simnode

import (
	"math"
	"math/rand/v2"
	"time"
)

// The start-up latency from bind to running, image pull included: log-normal
// with p50 1 s and p99 4 s, the figures the thesis gives (§3.4.1).
const startupMedian = time.Second

// 2.326 is the 99th percentile of the standard normal distribution.
var startupSigma = math.Log(4) / 2.326

// StartupLatency draws the time from a pod's bind to its running state.
func StartupLatency(rng *rand.Rand) time.Duration {
	return time.Duration(float64(startupMedian) * math.Exp(startupSigma*rng.NormFloat64()))
}
