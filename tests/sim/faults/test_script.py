"""Scripts of faults: what is taken, and that each mistake is named in one line."""

from pathlib import Path

import pytest

from sim.faults import FaultScript, FaultScriptError, load_faults, parse_faults

EXAMPLE = (Path(__file__).resolve().parents[3] / "docs" / "faults.md").read_text().split("```yaml\n")[1].split("```")[0]


def test_the_example_of_the_page() -> None:
    """Every kind of event, and every field of the shares."""
    script = parse_faults(EXAMPLE)
    kinds = {event.kind for event in script.events}
    assert kinds == {"link_down", "stop", "absent", "slow_host", "read_error", "write_error", "full_completions",
                     "bit_flip", "disagrees"}
    assert (script.needs_reliable_links, script.needs_ecc) == (True, True)
    assert script.links.delay == 200


def test_nothing() -> None:
    assert parse_faults("") == FaultScript()
    assert (FaultScript().needs_reliable_links, FaultScript().needs_ecc) == (False, False)


@pytest.mark.parametrize(("text", "message"), [
    ("- 1", "the file must be a valid dictionary or instance of FaultScript, not [1]"),
    ("link: {}", "link: no such field (got {})"),
    ("watchdog: 1", "watchdog must be greater than or equal to 100, not 1"),
    ("watchdog: yes", "watchdog must be a valid integer, not True"),
    ("links: {lost: 0.6}", "links.lost must be less than or equal to 0.5, not 0.6"),
    ("links: {lost: .nan}", "links.lost must be less than or equal to 0.5, not nan"),
    ("links: {lots: 0.1}", "links.lots: no such field (got 0.1)"),
    ("memory: {response: OKAY}", "memory.response must be 'SLVERR' or 'DECERR', not 'OKAY'"),
    ("events: [{kind: fire, node: 1}]", "events.0.kind must be one of absent, bit_flip, disagrees, full_completions, "
     "link_down, read_error, slow_host, stop, write_error, not 'fire'"),
    ("events: [{node: 1}]", "events.0.kind must be one of absent, bit_flip, disagrees, full_completions, link_down, "
     "read_error, slow_host, stop, write_error, not None"),
    ("events: [{kind: stop}]", "events.0.node: is required"),
    ("events: [{kind: stop, node: -1}]", "events.0.node must be greater than or equal to 0, not -1"),
    ("events: [{kind: bit_flip, node: 0, memory: tag, bits: 3}]",
     "events.0.bits must be less than or equal to 2, not 3"),
    ("events: [{kind: slow_host, node: 0, cycles: 0, extra: 1}]",
     "events.0.cycles must be greater than or equal to 1, not 0"),
    ("events: 3", "events must be a valid list, not 3"),
])
def test_mistakes(text: str, message: str) -> None:
    with pytest.raises(FaultScriptError) as refusal:
        parse_faults(text)
    assert str(refusal.value) == message


def test_nodes_that_there_are_not(tmp_path: Path) -> None:
    script = parse_faults("events: [{kind: stop, node: 3}, {kind: bit_flip, node: 0, memory: tag, cou: 2}]")
    with pytest.raises(FaultScriptError, match=r"^events\.0\.node must be 0 to 2, not 3$"):
        script.check(nodes=3, cous=4)
    with pytest.raises(FaultScriptError, match=r"^events\.1\.cou must be 0 to 1, not 2$"):
        script.check(nodes=4, cous=2)
    with pytest.raises(FaultScriptError, match=r"none\.yaml.*cannot be read"):
        load_faults(tmp_path / "none.yaml")
