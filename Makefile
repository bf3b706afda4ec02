# `make` alone prints the targets. A recipe is a line or two; what is longer is a script in scripts/, one job each.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.PHONY: help run build test lint fmt doc bench bench-lab peers chaos fuzz soak clean

# mold, where there is one, links faster. The same flags for every target: other flags build everything once more.
ifeq ($(shell scripts/has-mold && echo yes),yes)
export CARGO_TARGET_$(shell uname -m | tr a-z A-Z)_UNKNOWN_LINUX_GNU_RUSTFLAGS := -Clink-arg=-fuse-ld=mold
endif

help:
	@echo 'make TARGET, where TARGET is one of:'
	@sed -nE 's/^([a-z-]+):.*## (.*)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 13

run: ## build quickly and serve on loopback, data in ./data, until Ctrl-C
	@exec scripts/run

build: ## release binaries `signet` and `assay`
	cargo build --release --locked -p signet -p assay --bins

test: ## every test, against every component, each started for the purpose (< 15 minutes on two cores)
	@exec scripts/test

lint: ## formatting, clippy, rustdoc, dependencies, scripts
	@exec scripts/lint

fmt: ## format the sources
	cargo fmt --all

doc: ## the documentation of the crates
	cargo doc --workspace --no-deps --locked

bench: ## measure the release build (takes long, wants an idle machine)
	@scripts/bench hydra
	@scripts/bench bars

peers: ## measure beside Keycloak and oidc-provider, which npm and Maven bring; writes docs/results.md (12 minutes)
	@scripts/peers

bench-lab: ## measure the load lab itself against wrk, hey and arithmetic
	@scripts/bench lab

chaos: ## the full races, kills and outages, which `make test` holds in short
	@SIGNET_TEST_LENGTH=full scripts/record bench/results/chaos scripts/with-postgres \
		cargo test --release --locked -p signet --test it -- --nocapture chaos outage

fuzz: ## the full fuzz runs, which `make test` holds in short
	@scripts/record bench/results/fuzz cargo run --release --locked -p signet-fuzz

soak: ## millions of short-lived tokens, an hour of the load lab: disk and memory must stay flat
	@scripts/bench soak
	@scripts/bench lab-soak

clean: ## remove what was built; ./data is yours and stays
	cargo clean
	@if [ -e data ]; then echo 'kept: ./data (remove it yourself to start afresh)'; fi
