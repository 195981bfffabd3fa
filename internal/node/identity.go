package node

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"

	"assay/internal/assay"
)

// Identity is what an owner says of itself on its socket.
type Identity struct {
	PID      int       `json:"pid"`
	Version  string    `json:"version"`
	Command  string    `json:"command"` // e.g. "serve"
	Since    time.Time `json:"since"`
	Drives   bool      `json:"drives"`   // takes runs up
	Yields   bool      `json:"yields"`   // hands the data over to a process that asks for it
	Stopping bool      `json:"stopping"` // ends soon; its runs become queued
	Address  string    `json:"address,omitempty"`
}

func (id Identity) String() string {
	return fmt.Sprintf("`assay %s` (pid %d)", id.Command, id.PID)
}

// identityPath is served on the socket and inside the process, never on TCP.
const identityPath = "/owner"

// askTimeout is how long a living owner may take to say who it is.
const askTimeout = 2 * time.Second

// Ask returns who answers on a socket. An error means that nobody does.
func Ask(ctx context.Context, socket string) (Identity, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	tr := socketTransport(socket)
	defer tr.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://assay"+identityPath, nil)
	if err != nil {
		return Identity{}, assay.Errorf(assay.CodeInternal, "ask the owner: %w", err)
	}
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return Identity{}, assay.Errorf(assay.CodeUnavailable, "ask the owner on %s: %w", socket, err)
	}
	defer resp.Body.Close()
	var id Identity
	if resp.StatusCode != http.StatusOK {
		return id, assay.Errorf(assay.CodeUnavailable, "ask the owner on %s: status %d", socket, resp.StatusCode)
	}
	if err := json.NewDecoder(resp.Body).Decode(&id); err != nil {
		return id, assay.Errorf(assay.CodeUnavailable, "ask the owner on %s: %w", socket, err)
	}
	return id, nil
}

func socketTransport(socket string) *http.Transport {
	return localTransport(func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	})
}

func localTransport(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Transport {
	return &http.Transport{DialContext: dial, WriteBufferSize: buffer, ReadBufferSize: buffer, ExpectContinueTimeout: 5 * time.Second}
}
