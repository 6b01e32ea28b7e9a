//go:build !unix

package main

import "errors"

func spent() (usage, error) { return usage{}, errors.ErrUnsupported }
