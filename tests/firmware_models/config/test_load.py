"""Configurations: presets, bounds, and the words of every refusal."""

import re
from importlib.resources import files

import pytest
import yaml

from firmware_models.config import (
    FIELDS,
    ConfigError,
    derived,
    load_config,
    load_preset,
    need_messages,
    parse_config,
    preset_names,
    trace_config,
)


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
    "datapath: {mtu: 255}": "x.yaml: datapath.mtu: must be 64 to 4096, a power of two, not 255",
    "datapath: {mtu: 32}": "x.yaml: datapath.mtu: must be 64 to 4096, a power of two, not 32",
    "datapth: {}":
        "x.yaml: datapth: no such field (got {}); allowed: base, datapath, nic, cou, reduce, link, switch",
    "datapath: {data_width: 65}": "x.yaml: datapath.data_width: must be one of 64, 128, 256, 512, not 65",
    "nic: {n_vps: 1}": "x.yaml: nic.n_vps: must be 2 to 2048, a power of two, not 1",
    "nic: {n_vps: 4096}": "x.yaml: nic.n_vps: must be 2 to 2048, a power of two, not 4096",
    "nic: {n_vps: 016}": "x.yaml: nic.n_vps: must be 2 to 2048, a power of two, not '016'",
    "nic: {n_vps: 16.0}": "x.yaml: nic.n_vps: must be 2 to 2048, a power of two, not 16.0",
    "nic: {n_vps: .nan}": "x.yaml: nic.n_vps: must be 2 to 2048, a power of two, not nan",
    "nic: {get: 1}": "x.yaml: nic.get: must be true or false, not 1",
    "nic: {p2p: false}":
        "x.yaml: nic: get must be false without a point-to-point path (p2p: false), not True",
    "datapath: {data_width: 512, mtu: 64}":
        "x.yaml: configuration: datapath.mtu must be at least two flits (128) if nic.p2p, not 64",
    "nic: {n_vp: 16}":
        "x.yaml: nic.n_vp: no such field (got 16); allowed: n_vps, n_cous, n_p2p_tags, n_windows, max_burst_beats, "
        "reads_under_way, read_ahead_beats, fetch_batch, p2p, get, n_groups, address_bits",
    "nic: {read_ahead_beats: 32}": "x.yaml: nic: read_ahead_beats must be at least max_burst_beats (64), not 32",
    "nic: {fetch_batch: 12}": "x.yaml: nic.fetch_batch: must be 2 to 64, a power of two, not 12",
    "nic: {reads_under_way: 512}": "x.yaml: nic.reads_under_way: must be 1 to 256, a power of two, not 512",
    "nic: {address_bits: 65}": "x.yaml: nic.address_bits: must be 32 to 64, not 65",
    "nic: {n_vps: many}": "x.yaml: nic.n_vps: must be 2 to 2048, a power of two, not 'many'",
    "reduce: {datatypes: [float16]}":
        "x.yaml: reduce.datatypes: must be a list of some of float64, int64, uint64, float32, int32, double_int, "
        "not ['float16']",
    "reduce: {datatypes: [int32, int32]}":
        "x.yaml: reduce: datatypes must be different, not ['int32', 'int32']",
    "cou: {n_contexts: 2}": "x.yaml: cou: n_contexts must be at least n_jobs (4), not 2",
    "cou: {buffer_bytes: 1024}":
        "x.yaml: configuration: cou.buffer_bytes must hold n_jobs x n_peers x peer_credits + 4 = 196 packets of mtu "
        "2048 (401408 bytes), not 1024",
    "link: {reliable: true, buffer_flits: 256}":
        "x.yaml: configuration: link.buffer_flits must be at least 260, the flits of a packet of mtu 2048, if "
        "link.reliable, not 256",
    "link: {reliable: true, replay_flits: 512}":
        "x.yaml: configuration: link.replay_flits must be at least link.buffer_flits (1024), not 512",
    "{datapath: {mtu: 4096}, cou: {buffer_bytes: 1048576, intermediate_bytes: 65536}, link: {reliable: true}}":
        "x.yaml: configuration: link.replay_cycles must be at least 2068, the words of four packets of mtu 4096, if "
        "link.reliable, not 2048",
    "link: {reliable: true, dead_cycles: 1024}":
        "x.yaml: configuration: link.dead_cycles must be at least link.replay_cycles (2048) if link.reliable, not 1024",
    "link: {dead_cycles: 100}": "x.yaml: link.dead_cycles: must be 64 to 16777216, a power of two, not 100",
    "link: {replay_flits: 4096}": "x.yaml: link.replay_flits: must be 16 to 2048, a power of two, not 4096",
    "switch: {readers: 3}": "x.yaml: switch.readers: must be 1 to 2, not 3",
    "- 1": "x.yaml: must be a mapping of sections, not [1]",
    "nic: 5": "x.yaml: nic: must be a mapping of fields, not 5",
    "base: large":
        "x.yaml: base: must be one of ecpix5_85f, paper, small, ulx3s_85f, versa_ecp5_5g, or a file that ends in "
        ".yaml, not 'large'",
    "base: [small]":
        "x.yaml: base: must be one of ecpix5_85f, paper, small, ulx3s_85f, versa_ecp5_5g, or a file that ends in "
        ".yaml, not ['small']",
    "base: no.yaml": "config file 'no.yaml' cannot be read: No such file or directory",
}


@pytest.mark.parametrize(("text", "message"), REFUSED.items(), ids=list(REFUSED))
def test_refused(text, message):
    """One line: the field, what is allowed, the value."""
    with pytest.raises(ConfigError) as caught:
        parse_config(text, source="x.yaml")
    assert str(caught.value) == message


def test_not_yaml():
    """A text that is no YAML at all is refused with the line where it stops being so."""
    with pytest.raises(ConfigError, match=r"^x\.yaml is not YAML: mapping values are not allowed here \(line 1\)$"):
        parse_config(" a: b: c", source="x.yaml")


def test_files(tmp_path):
    """A file of one's own; one that is not there; a preset that is not there."""
    path = tmp_path / "mine.yaml"
    path.write_text("reduce: {add_cycles: 6}\n")
    assert load_config(path) == load_preset("small").changed(reduce={"add_cycles": 6})
    with pytest.raises(ConfigError, match="cannot be read: No such file or directory"):
        load_config(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match=r"preset must be one of ecpix5_85f, paper, .*, not 'large'"):
        load_preset("large")


@pytest.mark.parametrize("base", preset_names())
def test_base(base):
    """Two lines: a base, and the one field that is another."""
    assert parse_config(f"base: {base}\nlink: {{buffer_flits: 2048}}\n", source="x.yaml") \
        == load_preset(base).changed(link={"buffer_flits": 2048})


def test_nothing_changed():
    """An empty file, and sections without fields, are preset small."""
    for text in ("", "# nothing\n", "nic:\ncou:\n", "base: small"):
        assert parse_config(text, source="x.yaml") == load_preset("small")


def test_file_as_base(tmp_path):
    """A base may be a file, found beside the one that names it; every value says which of them gave it."""
    (tmp_path / "low").mkdir()
    low, high = tmp_path / "low" / "low.yaml", tmp_path / "high.yaml"
    low.write_text("base: paper\nnic: {n_cous: 4, n_groups: 8}\n")
    high.write_text("base: low/low.yaml\nnic: {n_cous: 2}\n")
    loaded = trace_config(high)
    assert loaded.config == load_preset("paper").changed(nic={"n_cous": 2, "n_groups": 8})
    assert {name: loaded.sources[f"nic.{name}"] for name in ("n_cous", "n_groups", "n_vps")} \
        == {"n_cous": str(high), "n_groups": str(low), "n_vps": "preset paper"}
    assert list(loaded.sources) == list(FIELDS)
    low.write_text("nic: {n_groups: 0}")
    with pytest.raises(ConfigError, match=rf"^{low}: nic\.n_groups: must be 1 to 256, not 0$"):
        load_config(high)
    low.write_text("base: ../high.yaml")
    with pytest.raises(ConfigError, match=r"base: must lead to a preset within 16 files, not in a circle$"):
        load_config(high)


@pytest.mark.parametrize("name", preset_names())
def test_preset_is_readable(name):
    """A preset says every field, or names its base; a line a field, each with a comment; none repeats its base."""
    text = (files("firmware_models.config") / "presets" / f"{name}.yaml").read_text()
    stated = yaml.safe_load(text)
    base = stated.pop("base", None)
    assert not re.search(r"^[^#]*[{\[]", text, re.MULTILINE), "block style"
    paths = [f"{section}.{field}" for section, fields in stated.items() for field in fields]
    for path in paths:
        assert re.search(rf"^  {path.split('.')[1]}:.*  # \w", text, re.MULTILINE), f"{path} has no comment"
    if base is None:
        assert paths == list(FIELDS)
    else:
        below = load_preset(base)
        assert [path for path in paths if value(below, path) == value(load_preset(name), path)] == []


def test_no_copies():
    """Presets that say the same say so by naming their base, directly or through another."""
    stated = {
        name: yaml.safe_load((files("firmware_models.config") / "presets" / f"{name}.yaml").read_text())
        for name in preset_names()
    }
    complete = [name for name in stated if "base" not in stated[name]]
    assert len({repr(load_preset(name)) for name in complete}) == len(complete)


def value(config, path):
    section, name = path.split(".")
    return getattr(getattr(config, section), name)


def test_description():
    """Every field says what it means and what it may be; what follows from them is there, too."""
    assert [path for path, known in FIELDS.items() if not known.meaning or not known.allowed] == []
    assert FIELDS["cou.buffer_bytes"].allowed == "1024 to 16777216, a power of two"
    assert FIELDS["switch.radix"].allowed == "2 to 64"
    assert derived(load_preset("small"))["buffer_packets"] == \
        (251, "Packets that one packet buffer takes, whatever their keys are: credits never exceed it.")


@pytest.mark.parametrize(("change", "message"), [
    ({"nic": {"n_vps": 12}}, "n_vps\n  Value error, must be a power of two"),
    ({"nic": {"n_vps": 4096}}, "less than or equal to 2048"),
    ({"cou": {"n_jobs": 32}}, r"n_contexts must be at least n_jobs \(32\), not 16"),
])
def test_changed_is_checked(change, message):
    """Bounds hold in Python as in files."""
    with pytest.raises(ValueError, match=message):
        load_preset("small").changed(**change)


def test_hardware_without_messages():
    """A use that needs messages, or GET, says so before anything is built."""
    small, board = load_preset("small"), load_preset("ulx3s_85f")
    without_get = small.changed(nic={"get": False})
    for get in (False, True):
        need_messages(small, "this", get=get)
    need_messages(without_get, "this")
    for config, get, field in ((board, False, "p2p"), (board, True, "get"), (without_get, True, "get")):
        with pytest.raises(ConfigError, match=re.escape(f"nic.{field} must be true for this, not False")):
            need_messages(config, "this", get=get)
