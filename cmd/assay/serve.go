package main

import (
	"log/slog"
	"os"
	"strings"

	"assay/internal/assay"
	"assay/internal/node"
)

type serveCmd struct {
	Listen        string   `default:"127.0.0.1:7171" placeholder:"ADDR" help:"Address of the page and the API. Default 127.0.0.1:7171; port 0 takes a free one."`
	TokenFile     string   `type:"path" placeholder:"FILE" help:"File that holds the token that clients must send. $ASSAY_TOKEN does the same. Needed beyond loopback."`
	Host          []string `placeholder:"NAME" help:"Name by which browsers may address this server, besides its address. May be repeated."`
	Capability    []string `placeholder:"NAME" help:"What this machine has, for suites that need it, e.g. gpu. $ASSAY_CAPABILITIES does the same for every command. May be repeated."`
	AllowCommands bool     `help:"Take suites, and judges that run commands or name files of this machine over TCP too, not only over the socket."`
	AddressFile   string   `type:"path" placeholder:"FILE" help:"Write the address there once it answers."`
}

func (serveCmd) Help() string {
	return `Owns the data folder or the database, drives every run that waits, and serves until it is stopped. With --database a second one stands by and takes over within seconds.

At SIGTERM or Ctrl-C no new call starts, calls in flight get 10 s, and runs are queued for the next process. A second signal ends at once.

/metrics answers Prometheus. Calls to models make OpenTelemetry spans where $OTEL_EXPORTER_OTLP_ENDPOINT names a collector.

Example:

    assay serve
    ASSAY_TOKEN=... assay serve --listen 0.0.0.0:7171 --host assay.example.org`
}

func (c *serveCmd) Run(a *app) error {
	if a.Server != "" {
		return misuse("serve is a server: --server does not go with it")
	}
	token, err := c.token()
	if err != nil {
		return err
	}
	l, err := node.Listen(c.Listen, token)
	if err != nil {
		return err
	}
	defer l.Close()
	d, err := a.open(node.Config{Drive: true, Serve: true, Capabilities: c.Capability, Log: a.logger(slog.LevelInfo)})
	if err != nil {
		return err
	}
	d.sayCarried(0)
	address := d.node().ServeTCP(l, node.Door{Token: token, Hosts: c.Host, Commands: c.AllowCommands})
	if err := c.announce(a, d, address); err != nil {
		return err
	}
	<-a.ctx.Done()
	a.say("stops: no new call starts, calls in flight get up to 10 s; Ctrl-C again ends at once")
	return nil
}

func (c *serveCmd) announce(a *app, d *door, address string) error {
	if err := writeAddress(c.AddressFile, address); err != nil {
		return err
	}
	if a.JSON {
		return a.printLine(map[string]any{"address": address, "pid": os.Getpid(), "driving": d.node().Owns()})
	}
	a.print("Assay serves %s\n", address)
	if !d.node().Owns() {
		a.print("another process owns the database: this one stands by and takes over when it ends\n")
	}
	return nil
}

// writeAddress tells scripts where a server answers; "" is nowhere.
func writeAddress(file, address string) error {
	if file == "" {
		return nil
	}
	if err := os.WriteFile(file, []byte(address+"\n"), 0o600); err != nil {
		return assay.Errorf(assay.CodeInternal, "write %s: %w", file, plain(err))
	}
	return nil
}

func (c *serveCmd) token() (string, error) {
	if c.TokenFile == "" {
		token := os.Getenv("ASSAY_TOKEN")
		if token != "" && strings.TrimSpace(token) == "" {
			return "", assay.Errorf(assay.CodeInvalid, "ASSAY_TOKEN holds nothing but spaces").WithHint("`openssl rand -hex 32` makes a token")
		}
		return token, nil
	}
	raw, err := os.ReadFile(c.TokenFile)
	if err != nil {
		return "", assay.Errorf(assay.CodeNotFound, "open token file %s: %w", c.TokenFile, plain(err))
	}
	token := strings.TrimSpace(string(raw))
	if token == "" {
		return "", assay.Errorf(assay.CodeInvalid, "token file %s is empty", c.TokenFile).WithHint("`openssl rand -hex 32 > %s` makes a token", c.TokenFile)
	}
	return token, nil
}
