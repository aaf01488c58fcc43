# conic: the front door. Every target but `setup` and `clean` depends on .venv, which `setup` makes.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
EXTRAS := demo,fpga,formal,dask,docs,dev
PAGES := $(shell grep -lE '^<!-- table ' README.md docs/*.md rtl/*/README.md)

.PHONY: help setup demo test test-fast test-long formal verilog bitstream bench waves docs walk lint clean

help: ## this list
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 14

setup: $(STAMP) ## make .venv with everything that demo and test need

$(STAMP): pyproject.toml
	@missing=; \
	need() { command -v "$$1" >/dev/null || missing="$$missing $$2"; }; \
	need "$(PYTHON)" python3; need g++ g++; need make make; need perl perl; need git git; \
	if [ -n "$$missing" ]; then \
	  echo "conic needs$$missing: install with your system's packages (Debian: apt-get install$$missing)" >&2; exit 1; fi
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "conic needs Python 3.11 or newer, not $$("$(PYTHON)" --version): install it, then make setup PYTHON=python3.11" >&2; exit 1; }
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo "conic needs Python's venv module: install it (Debian: apt-get install python3-venv)" >&2; exit 1; }
	"$(PYTHON)" -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[$(EXTRAS)]'
	@touch $@

demo: $(STAMP) ## four nodes all-reduce a real data set on the RTL; page in build/demo
	$(BIN)/conic demo

test: $(STAMP) ## all tests but the long ones (SEEDS: a number that their seeds follow from)
	CONIC_SEEDS=$(or $(SEEDS),20261124) $(BIN)/python -m pytest -n 2 --dist worksteal -m "not long" tests

test-fast: $(STAMP) ## at most 3 minutes of the tests that the working tree's changes touch (SINCE: a revision)
	$(BIN)/python -m testbench.fast $(SINCE)

test-long: $(STAMP) ## all tests
	$(BIN)/python -m pytest -n 2 --dist worksteal tests

formal: $(STAMP) ## prove the contracts, and that each proof catches its mutations (an hour or more)
	$(BIN)/python -m testbench.formal
	$(BIN)/python -m testbench.formal.unseen

verilog: $(STAMP) ## Verilog, C header and register page of preset PRESET (small) in build/verilog
	$(BIN)/conic verilog --preset $(or $(PRESET),small) --top nic --output-dir build/verilog
	$(BIN)/conic verilog --preset $(or $(PRESET),small) --top switch --output-dir build/verilog

bitstream: $(STAMP) ## bitstream of BOARD (ulx3s_85f, ecpix5_85f, versa_ecp5_5g) in build/fpga (many minutes)
	$(BIN)/conic build $(or $(BOARD),ulx3s_85f)

waves: $(STAMP) ## run TEST (a pytest node) and keep its waveform
	@[ -n "$(TEST)" ] || { echo "say which: make waves TEST=tests/rtl/kit/test_kit.py" >&2; exit 2; }
	CONIC_WAVES=1 $(BIN)/python -m pytest -s $(TEST)

bench: $(STAMP) ## measure the figures of the pages again (hours)
	$(BIN)/python -m sim.page.figures docs/figures/cluster.json
	$(BIN)/python -m sim.page.figures docs/figures/multicast.json
	$(BIN)/python -m sim.page.figures docs/figures/paper.json
	$(BIN)/python -m sim.page.figures docs/figures/pool.json
	$(BIN)/python -m fpga.figures docs/figures/fpga.json
	$(BIN)/python -m fpga.offload_area paper docs/figures/offload_area.json
	$(BIN)/python -m fpga.reduce_figures docs/figures/reduce.json
	$(BIN)/python -m fpga.buffer_figures docs/figures/buffer.json
	$(BIN)/python -m testbench.coverage docs/figures/coverage.json
	$(BIN)/conic bench switch --json > docs/figures/switch.json
	$(BIN)/conic bench latency --json > docs/figures/latency.json
	$(BIN)/conic bench simulator --preset small --preset paper --json > docs/figures/simulator.json
	$(BIN)/conic bench builds --json > docs/figures/builds.json
	$(BIN)/conic bench scale --nodes 1024 --json > docs/figures/scale.json
	$(BIN)/conic buffer --seed 1 --sweep --plot docs/figures/buffer_load.svg --json > docs/figures/buffer_load.json
	$(BIN)/python -m sim.page.measured builds cluster multicast paper pool fpga offload_area reduce buffer coverage switch latency simulator \
	  scale buffer_load
	$(BIN)/python -m sim.page.pages $(PAGES)

docs: $(STAMP) ## regenerate the generated pages and tables, and build the site: build/site/index.html
	$(BIN)/python -m firmware_models.abi docs/abi.md
	$(BIN)/python -m firmware_models.host docs/host.md
	$(BIN)/python -m sim.page.pages $(PAGES)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet --clean
	$(BIN)/python docs/site/check.py build/site

walk: $(STAMP) ## follow a descriptor and a packet through the RTL again: numbers and pictures of docs/walk.md (minutes)
	$(BIN)/python -m sim.walk docs/figures
	$(BIN)/python -m sim.page.pages docs/walk.md

lint: $(STAMP) ## ruff, mypy, import-linter
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

clean: ## remove .venv and everything that was built
	rm -rf $(VENV) build *.egg-info .pytest_cache .mypy_cache .ruff_cache .import_linter_cache
