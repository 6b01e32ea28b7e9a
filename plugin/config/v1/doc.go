// Package v1 is the form in which a KubeSchedulerConfiguration writes the
// arguments of the plugin Spazio:
//
//	pluginConfig:
//	- name: Spazio
//	  args:
//	    listen: 0.0.0.0:9690
//	    tlsCertFile: /etc/spazio/tls.crt
//	    stalePolicy: Reject
//
// Unknown fields are errors. A field left out, or zero, has its default,
// but for maxWait: zero has pods wait for ever.
package v1
