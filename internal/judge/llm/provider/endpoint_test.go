package provider

import (
	"strings"
	"testing"
)

// What is wrong about an address is told without the address: it may hold a password.
func TestAWrongAddressIsNotRepeated(t *testing.T) {
	for _, base := range []string{"ftp://user:s3cret@host/v1", "http://user:s3cret@host/v1", "http://host/v1?key=s3cret", "user:s3cret@host", "http://ho st:s3cret/"} {
		_, err := LogicalEndpoint(base)
		if err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", base, err)
		}
	}
}
