//go:build !linux

package pgtest

import "os/exec"

const tied = false

// startTied starts cmd. Only Linux ties its life to ours; elsewhere Main stops it.
func startTied(cmd *exec.Cmd, _ <-chan struct{}) error { return cmd.Start() }
