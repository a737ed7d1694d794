# `make help` shows every target by the comment beside it.

LINT := golangci=$$(cd tools/golangci-lint && go tool -n golangci-lint) && "$$golangci"

# Each has a go.mod of its own; the linter sees one at a time.
MODULES := . internal/bench internal/faults infra

# What Lambda runs: GOARCH=amd64 make build for the other architecture.
GOARCH ?= arm64
DIST ?= dist
$(if $(word 2,$(DIST)),$(error DIST is '$(DIST)': make takes no directory that has a space in its name, expected another or one relative to here))
FUNCTIONS := $(patsubst functions/%/main.go,%,$(wildcard functions/*/main.go))

# More flags for the tests: make test ARGS='-run TestRelay -v' PACKAGES=./internal/outbox
ARGS ?=
PACKAGES ?= ./...

# The versions of PostgreSQL that are supported: make test-matrix VERSIONS='14 18'
VERSIONS ?= 14 15 16 17 18

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: demo
demo: ## Write events into a real PostgreSQL and watch them arrive
	go run ./internal/demo

# -count=1: the tests build and run functions, PostgreSQL and the emulator,
# which the go command does not see when it takes a result from its cache.
.PHONY: test
test: ## Run the tests, with the race detector; ARGS and PACKAGES narrow them down
	@cc=$$(for cc in "$$(go env CC)" gcc clang cc; do command -v "$$cc" && break; done); \
	if [ -n "$$cc" ]; then \
		export CGO_ENABLED=1 CC="$$cc"; set -- -race; \
	elif [ -n "$$CI" ]; then \
		echo 'test: no C compiler, so no race detector: install gcc or clang' >&2; exit 1; \
	else \
		set --; \
		echo '*** WITHOUT THE RACE DETECTOR: it needs a C compiler, install gcc or clang ***' >&2; \
	fi; \
	if ! PATH="$$PATH:/usr/sbin:/usr/local/sbin" command -v "$${OUTBOX_TEST_PGBOUNCER:-pgbouncer}" >/dev/null; then \
		echo '*** WITHOUT THE TESTS BEHIND PGBOUNCER: install pgbouncer ***' >&2; \
		[ -z "$$CI" ] || exit 1; \
	fi; \
	set -x; go test "$$@" -count=1 -timeout 15m $(ARGS) $(PACKAGES)$(if $(filter file,$(origin PACKAGES)), && \
	cd internal/faults && go test "$$@" -count=1 -timeout 15m $(ARGS) ./...)
	$(if $(filter file,$(origin PACKAGES)),cd infra && go test -count=1 -timeout 15m $(ARGS) ./...)

# -parallel: the seconds are to be the relay's own, and not those of a busy machine.
.PHONY: faults
faults: ## Try every fault and write docs/faults.md
	cd internal/faults && go test -count=1 -timeout 30m -parallel 2 -run TestNothingIsLostWhateverGoesWrong . -update

# A version that fails does not keep the others from being tried. One that
# neither the machine nor npm has is left out, loudly, and never in CI.
# -parallel: the longest tests wait for what the server does in its own time.
.PHONY: test-matrix
test-matrix: PACKAGES := $(if $(filter file,$(origin PACKAGES)),./internal/postgres/...,$(PACKAGES))
test-matrix: ## Run the store's tests on each PostgreSQL of VERSIONS, 14 to 18; ARGS and PACKAGES as for test
	@passed= failed=; for version in $(VERSIONS); do \
		echo "=== PostgreSQL $$version"; \
		if ! found=$$(go run ./internal/postgrestest/find "$$version"); then \
			failed="$$failed $$version"; \
		elif [ -n "$$found" ]; then \
			echo "$$found"; \
			GOFLAGS="$$GOFLAGS -parallel=6" $(MAKE) --no-print-directory test POSTGRES_VERSION="$$version" PACKAGES='$(PACKAGES)' \
				&& passed="$$passed $$version" || failed="$$failed $$version"; \
		fi; \
	done; \
	echo "=== passed on PostgreSQL$${passed:- none}$${failed:+, failed on$$failed}"; \
	[ -n "$$passed" ] && [ -z "$$failed" ]

.PHONY: lint
lint: ## Check style, formatting, directions of imports and go.mod
	@$(LINT) version && for module in $(MODULES); do \
		(cd $$module && "$$golangci" run && go mod tidy -diff) || exit 1; \
	done

.PHONY: build
build: $(FUNCTIONS:%=$(DIST)/%/bootstrap) ## Build dist/<function>/bootstrap for Lambda: GOARCH=arm64 (default) or amd64

# The flags leave nothing of this machine or moment in the binary. The go
# command knows better than make what has changed.
$(DIST)/%/bootstrap: FORCE
	CGO_ENABLED=0 GOOS=linux GOARCH=$(GOARCH) go build -trimpath -buildvcs=false -tags lambda.norpc \
		-ldflags '-s -w -buildid=' -o $@ ./functions/$*

FORCE:

.PHONY: schema
schema: ## Print the SQL of the tables and roles, for OUTBOX_TABLE
	@go run ./internal/postgres/schema

# The version of the npm package that they come out of is in internal/postgres/roots.
.PHONY: roots
roots: ## Write the roots of Amazon RDS into internal/postgres/roots.pem, by npm
	@command -v npm >/dev/null || { echo 'roots: npm is needed: https://nodejs.org' >&2; exit 1; }
	@go run ./internal/postgres/roots internal/postgres/roots.pem

# The settings of a deployment: SETTINGS=prod.json, or infra/settings.json, and
# ARGS='-c eventBus=orders' on top of that, or instead. Without the -c the CDK
# would take a setting for the name of a stack.
SETTINGS ?=
CDK := cd infra && ./cdk.sh
CDK_ARGS = $(if $(SETTINGS),-c 'settings=$(if $(filter /%,$(firstword $(SETTINGS))),,$(CURDIR)/)$(SETTINGS)') $(cdk-options)
cdk-options = $(if $(findstring =,$(filter-out -%,$(firstword $(ARGS)))),$(error ARGS is '$(ARGS)': expected -c before a setting, as in ARGS='-c key=value'),$(ARGS))
EXAMPLE := infra/settings.example.json

infra/node_modules/.package-lock.json: infra/package-lock.json
	@command -v npm >/dev/null || { echo 'the CDK needs Node.js 20 or later with npm: https://nodejs.org' >&2; exit 1; }
	cd infra && npm ci --no-audit --no-fund --silent && touch node_modules/.package-lock.json

.PHONY: synth
synth: SETTINGS := $(or $(SETTINGS),$(if $(ARGS)$(wildcard infra/settings.json),,$(EXAMPLE)))
synth: infra/node_modules/.package-lock.json ## Synthesize the stack into infra/cdk.out; SETTINGS and ARGS as for deploy, else an example
	@$(if $(filter $(EXAMPLE),$(SETTINGS)),echo 'synth: there are no settings: using $(EXAMPLE)' >&2)
	@rm -rf infra/cdk.out # it would keep the templates of other stacks
	$(CDK) synth --quiet $(CDK_ARGS)
	@cd infra && ls cdk.out/*.template.json

.PHONY: settings
settings: ## Write the table of all settings into docs/deployment.md
	cd infra && go run ./settings/table ../docs/deployment.md

.PHONY: picture
picture: ## Draw docs/dashboard.svg: what the dashboard of the stack looks like
	cd infra && go test -count=1 -run TestThePictureInTheDocsIsTheDashboard ./outboxcdk -update

.PHONY: diff deploy rollback destroy
diff: infra/node_modules/.package-lock.json ## Show what a deployment would change; SETTINGS and ARGS as for deploy
	$(CDK) diff $(CDK_ARGS)

deploy: infra/node_modules/.package-lock.json ## Deploy the stack: SETTINGS=prod.json, ARGS='-c key=value' or options of the CDK
	$(CDK) deploy $(CDK_ARGS)

rollback: infra/node_modules/.package-lock.json ## Undo a deployment that failed half-way; SETTINGS and ARGS as for deploy
	$(CDK) rollback $(CDK_ARGS)

destroy: infra/node_modules/.package-lock.json ## Delete the stack; SETTINGS and ARGS as for deploy
	$(CDK) destroy $(CDK_ARGS)

.PHONY: e2e
e2e: infra/node_modules/.package-lock.json ## Deploy into an emulator of AWS on this machine, deliver events, destroy
	cd infra && go run ./e2e

.PHONY: bench
bench: ## Run the benchmarks; BENCH narrows them down
	cd internal/bench && go run . $(BENCH)
