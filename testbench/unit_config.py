"""The configuration that benches of single units begin with."""

from firmware_models.config import parse_config

UNIT = parse_config("""
datapath:
  data_width: 64
  mtu: 256
nic:
  n_vps: 16
  n_cous: 1
  n_p2p_tags: 8
  n_windows: 4
  max_burst_beats: 16
  n_groups: 16
cou:
  n_jobs: 4
  n_contexts: 8
  sequence_depth: 32
  buffer_bytes: 32768
  n_peers: 16
  peer_credits: 1
  n_blocks: 32
  intermediate_bytes: 2048
reduce:
  add_cycles: 8
link:
  buffer_flits: 64
switch:
  radix: 8
  table_entries: 64
  mft_entries: 128
  match_iterations: 2
  readers: 1
""", source="testbench.unit_config")
"""Everything is there and small, so that random stimulus reaches what is full; a bench changes what it is about."""
TINY = UNIT.changed(
    datapath={"data_width": 64, "mtu": 64},
    nic={"n_vps": 2, "n_cous": 1, "n_p2p_tags": 2, "n_windows": 1, "p2p": False, "get": False, "max_burst_beats": 2,
         "read_ahead_beats": 4, "reads_under_way": 2, "fetch_batch": 2, "n_groups": 1},
    cou={"n_jobs": 1, "n_contexts": 1, "sequence_depth": 8, "buffer_bytes": 1024, "buffer_mode": "linear",
         "n_peers": 2, "n_blocks": 2, "intermediate_bytes": 64, "lending": False},
    reduce={"datatypes": ("int64",), "multiply": False, "add_cycles": 5},
    link={"buffer_flits": 16, "replay_flits": 16},
    switch={"radix": 2, "table_entries": 2, "mft_entries": 16, "match_iterations": 1, "readers": 1},
)
"""Two nodes and sums of integers. Nearly all is as small as it can be: Verilator's model of it compiles in seconds."""
