//go:build !linux

package share

import (
	"errors"
	"io"
	"os"
	"time"
)

func lockDir(string) (io.Closer, error)           { return nil, errors.ErrUnsupported }
func inMemory(string) bool                        { return true }
func setModified(*os.File, time.Time) error       { return errors.ErrUnsupported }
func openDir(*os.Root, string) (*os.File, error)  { return nil, errors.ErrUnsupported }
func createIn(*os.File, string) (*os.File, error) { return nil, errors.ErrUnsupported }
func openIn(*os.File, string) (*os.File, error)   { return nil, errors.ErrUnsupported }
func removeIn(*os.File, string) error             { return errors.ErrUnsupported }
func renameIn(*os.File, string, string) error     { return errors.ErrUnsupported }
func isNoDir(error) bool                          { return false }
