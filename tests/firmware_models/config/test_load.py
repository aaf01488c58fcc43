"""Configurations: presets, bounds, and the words of every refusal."""

import pytest

from firmware_models.config import ConfigError, load_config, load_preset, preset_names
from firmware_models.config.load import parse_config


def test_presets():
    """All presets are there, and `paper` holds the paper's figures (NIC paper, sections 1.2 and 2)."""
    assert preset_names() == ["ecpix5_85f", "paper", "small", "ulx3s_85f", "versa_ecp5_5g"]
    paper = load_preset("paper")
    assert (paper.nic.n_vps, paper.nic.n_cous, paper.cou.buffer_bytes, paper.cou.n_peers) == (2048, 8, 512 << 10, 16)
    assert paper.nic.n_cous * paper.cou.n_jobs == 32
    narrow = [name for name in preset_names() if load_preset(name).nic.address_bits == 32]
    assert narrow == ["ecpix5_85f", "ulx3s_85f", "versa_ecp5_5g"], "the presets of boards"
    assert paper.nic.address_bits == 64


REFUSED = {
    "datapath: {mtu: 255}": "x.yaml: datapath: mtu must be a power of two, not 255",
    "datapath: {mtu: 32}": "x.yaml: datapath.mtu: input should be greater than or equal to 64, not 32",
    "datapth: {}":
        "x.yaml: datapth: no such field (got {}); allowed: datapath, nic, cou, reduce, link, switch",
    "datapath: {data_width: 65}": "x.yaml: datapath.data_width: input should be 64, 128, 256 or 512, not 65",
    "nic: {n_vps: 1}": "x.yaml: nic.n_vps: input should be greater than or equal to 2, not 1",
    "nic: {n_vps: 4096}": "x.yaml: nic.n_vps: input should be less than or equal to 2048, not 4096",
    "nic: {n_windows: 3}": "x.yaml: nic: n_windows must be a power of two, not 3",
    "nic: {n_windows: 128}": "x.yaml: nic.n_windows: input should be less than or equal to 64, not 128",
    "nic: {address_bits: 31}": "x.yaml: nic.address_bits: input should be greater than or equal to 32, not 31",
    "nic: {address_bits: 65}": "x.yaml: nic.address_bits: input should be less than or equal to 64, not 65",
    "nic: {n_vps: many}": "x.yaml: nic.n_vps: input should be a valid integer, not 'many'",
    "cou: {n_contexts: 2}": "x.yaml: cou: n_contexts must be at least n_jobs (4), not 2",
    "cou: {buffer_bytes: 1024}":
        "x.yaml: configuration: cou.buffer_bytes must hold n_jobs x n_peers x peer_credits + 4 = 68 packets of mtu 256 "
        "(17408 bytes), not 1024",
    "- 1": "x.yaml: must be a mapping of sections, not [1]",
    "nic: 5": "x.yaml: nic: input should be an object, not 5",
}


@pytest.mark.parametrize(("text", "message"), REFUSED.items(), ids=list(REFUSED))
def test_refused(text, message):
    """One line: the field, what is allowed, the value."""
    with pytest.raises(ConfigError) as caught:
        parse_config(text, source="x.yaml")
    assert str(caught.value) == message


def test_not_yaml():
    """What is no YAML at all says where it stops being so."""
    with pytest.raises(ConfigError, match=r"^x\.yaml: not YAML: mapping values are not allowed here"):
        parse_config(" a: b: c", source="x.yaml")


def test_files(tmp_path):
    """A file of one's own; one that is not there; a preset that is not there."""
    path = tmp_path / "mine.yaml"
    path.write_text("reduce: {add_cycles: 5}\n")
    assert load_config(path).reduce.add_cycles == 5
    with pytest.raises(ConfigError, match="cannot be read: No such file or directory"):
        load_config(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match=r"preset must be one of ecpix5_85f, paper, .*, not 'large'"):
        load_preset("large")
