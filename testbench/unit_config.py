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
