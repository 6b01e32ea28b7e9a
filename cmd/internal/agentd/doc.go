// Package agentd is the command spazio-agent: flags around an agent of package
// node, its HTTP server and the limits of its process.
package agentd
