// Package nice lowers the priority of this process.
package nice
