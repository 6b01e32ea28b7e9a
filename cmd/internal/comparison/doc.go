// Package comparison is spazio-demo compare: package compare with Kubernetes' control
// plane, schedulers and agents as its roles.
package comparison
