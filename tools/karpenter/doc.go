// Package karpenter pins Karpenter with its kwok provider, which the step karpenter of .ci/run builds
// and runs against what Spazio's scheduler asks it for. Its requirements stay in this module.
package karpenter
