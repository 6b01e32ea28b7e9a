// Package v1 is the form in which a KubeSchedulerConfiguration writes the
// arguments of the plugins Spazio and SpazioSlots:
//
//	pluginConfig:
//	- name: Spazio
//	  args:
//	    listen: 0.0.0.0:9690
//	    tlsCertFile: /etc/spazio/tls.crt
//	    stalePolicy: Reject
//	- name: SpazioSlots
//	  args:
//	    swap: Graceful
//
// Unknown fields are errors. A field that is left out or zero has its default, except maxWait,
// where zero makes pods wait forever.
package v1
