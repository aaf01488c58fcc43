"""Instructions by their names: the best that the machine has, or one that is asked for and there."""

import pytest

from sim.cluster.lanes import machine


@pytest.mark.parametrize("name", [one.name for one in machine.isas_of_this_machine()])
def test_what_is_asked_for(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(machine.ENVIRONMENT, name)
    assert machine.isa().name == name


def test_the_best_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(machine.ENVIRONMENT, raising=False)
    for there, best in (({"__AVX2__", "__BMI2__"}, "avx2"), (set(), "portable")):
        monkeypatch.setattr(machine, "_macros", lambda there=there: frozenset(there))
        assert machine.isa().name == best


@pytest.mark.parametrize("name", ["sse", "", "AVX2", "avx512"])
def test_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of nothing, and of what the machine has not: code for it would end in an illegal instruction."""
    monkeypatch.setattr(machine, "_macros", lambda: frozenset({"__AVX2__", "__BMI2__"}))
    monkeypatch.setenv(machine.ENVIRONMENT, name)
    said = f"^CONIC_ISA must be one of avx2, portable on this machine, not '{name}'$"
    with pytest.raises(machine.IsaError, match=said):
        machine.isa()
