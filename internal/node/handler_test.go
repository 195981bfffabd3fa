package node

import "testing"

func TestAServerOnEveryAddressNamesOneThatWorks(t *testing.T) {
	for addr, want := range map[string]string{
		"[::]:7171": "127.0.0.1:7171", "0.0.0.0:7171": "127.0.0.1:7171",
		"127.0.0.1:7171": "127.0.0.1:7171", "[::1]:7171": "[::1]:7171", "192.0.2.1:80": "192.0.2.1:80",
	} {
		if got := reachable(addr); got != want {
			t.Errorf("%s: %s, want %s", addr, got, want)
		}
	}
}
