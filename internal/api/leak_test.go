package api_test

import (
	"net/http"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(leakFree{m})
}

// leakFree drops the idle connections of the shared client before goroutines are counted.
type leakFree struct{ m *testing.M }

func (l leakFree) Run() int {
	defer http.DefaultClient.CloseIdleConnections()
	return l.m.Run()
}
