// Package replay holds recommenders against recorded series: at each moment one
// says what will be enough for the next half hour, and then it is seen whether it
// was, and how much was too much.
//
//	quality   share of predictions that nothing in the window exceeded
//	overhead  Σ(prediction − mean of the window)/Σ mean, over all series
//
// The measures are S. Galantino's (Kubernetes job profiling, 2020, §6.2), with the
// overhead as a share and not in absolute units. Beside the recommenders of package
// profile there are those of the Vertical Pod Autoscaler, Autopilot and koordlet.
//
// Types that do not speak of concurrent use are plain values.
package replay
