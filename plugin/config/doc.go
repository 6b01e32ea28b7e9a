// Package config holds the arguments of the plugins Spazio and SpazioSlots. A
// KubeSchedulerConfiguration writes them as
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
//
// A scheduler that registers them in its own scheme ([AddToScheme]) decodes, defaults and converts
// the arguments together with the rest of its configuration, and refuses unknown fields when it
// reads the file. In one that doesn't, the plugin decodes them itself ([Decode]), as strictly.
package config
