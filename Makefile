# What a person and CI call. Everything is done by the Go toolchain; nothing is downloaded but modules.

GO      ?= go
# Each fuzz target runs this long in make test; TIMEOUT bounds one package.
FUZZ    ?= 2s
TIMEOUT ?= 9m
# make run ONCE=1 ends after the report.
ONCE    ?=
DATA    ?= assay-data/demo

# make simulate ONLY=rates prints one table.
ONLY    ?=

.PHONY: build run test check bench simulate generate race clean

build: ## bin/assay
	$(GO) build -o bin/assay ./cmd/assay

run: build ## the demo: sessions are made, graded and reported; then it serves until Ctrl-C
	bin/assay demo --data $(DATA) $(if $(ONCE),--once)

test: check ## what CI runs: checks, every test, every fuzz target for a short time, and what was skipped
	@# -count=1: tests that build the program themselves would be answered from the cache after a change of it
	@# end to end comes last, by itself: it holds bounds of time, which say nothing while compilers run beside it
	$(GO) run ./internal/testsummary -alone ./internal/e2e -fuzz $(FUZZ) -- -count=1 -timeout $(TIMEOUT) ./...

check: ## gofmt, go vet, the import map
	@unformatted=$$(gofmt -l cmd internal); if [ -n "$$unformatted" ]; then echo "gofmt these files:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet ./...
	$(GO) test ./internal/importmap

bench: build ## the speed table
	$(GO) run ./internal/bench

simulate: ## how often intervals and tests are right: the tables of docs/SIMULATION.md, about ten minutes
	$(GO) run ./internal/simulate $(if $(ONLY),-only $(ONLY))

generate: ## what is made from the code: docs
	$(GO) generate ./...

race: ## every test under the race detector; needs gcc
	$(GO) test -race -timeout 30m ./...

clean:
	rm -rf bin assay-data/demo
