"""The proofs hold and catch their mutations; a contract that says nothing, or a stale mutation, is noticed."""

import ast
import builtins
import io
import tokenize
from dataclasses import replace
from pathlib import Path

import pytest

from testbench.formal.__main__ import main
from testbench.formal.proof import Mutation, Proof
from testbench.formal.registry import PROOFS, find_proof
from testbench.formal.run import FormalError, run
from testbench.formal.unseen.designs import MUTATIONS


@pytest.mark.parametrize("proof", [
    pytest.param(proof, id=proof.name, marks=() if proof.quick else pytest.mark.long) for proof in PROOFS
])
def test_proof(proof: Proof) -> None:
    (outcome,) = run([proof])
    assert outcome.verdict.status == "PASS", outcome.verdict.log.read_text()
    assert outcome.reached.status == "FAIL", f"of {outcome.situations} some cannot happen: the proof says too little"
    assert {mutation.name: verdict.status for mutation, verdict in outcome.caught} == {
        mutation.name: "FAIL" for mutation in proof.mutations
    }
    assert outcome.holds


def test_names_are_unique() -> None:
    assert len({proof.name for proof in PROOFS}) == len(PROOFS)


def test_no_mutation_is_stale() -> None:
    """Every text that a mutation replaces stands in the RTL, so that proofs which are not run here stay able to run."""
    for mutation in (*(mutation for proof in PROOFS for mutation in proof.mutations), *MUTATIONS):
        mutation.apply(Path(*mutation.module.split(".")).with_suffix(".py").read_text())


def names_in(source: str) -> set[str]:
    """Names in a module, also those in quotation marks; no words of prose."""
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    texts = [token.string.strip("\"'f") if token.type == tokenize.STRING else token.string for token in tokens]
    return {text for text in texts if text.isidentifier()}


RTL_NAMES = {
    name for folder in ("rtl", "firmware_models/abi", "firmware_models/config") for path in Path(folder).rglob("*.py")
    for name in names_in(path.read_text())
}


def unknown_names(source: str) -> set[str]:
    """Names that a module reads and nothing in it, nor Python, defines; attributes that nothing in the RTL has."""
    defined, read = set(dir(builtins)), set()
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Name(id=name, ctx=context):
                (read if isinstance(context, ast.Load) else defined).add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.arg(arg=name):
                defined.add(name)
            case ast.alias(name=name, asname=other):
                defined.add(other or name.partition(".")[0])
            case ast.Attribute(attr=name) if name not in RTL_NAMES:
                read.add(name)
    return read - defined


def test_every_mutation_can_be_built() -> None:
    """A mutation whose new text names what the RTL does not have any more would fail to build, not be caught."""
    assert unknown_names("def f(a):\n    return a.no_such_port + gone") == {"no_such_port", "gone"}
    for mutation in (*(mutation for proof in PROOFS for mutation in proof.mutations), *MUTATIONS):
        source = Path(*mutation.module.split(".")).with_suffix(".py").read_text()
        assert not unknown_names(mutation.apply(source)), mutation.name


def test_an_undetected_mutation_fails() -> None:
    """A mutation that changes nothing is reported as not caught."""
    proof = find_proof("queue")
    (outcome,) = run([proof])
    passed = replace(outcome, caught=((proof.mutations[0], replace(outcome.caught[0][1], status="PASS")),))
    assert outcome.holds
    assert not passed.holds


def test_stale_mutation() -> None:
    """Text that is not in the RTL any more is refused, not skipped."""
    mutation = Mutation(name="stale", module="rtl.kit.queue", old="no such text", new="")
    with pytest.raises(ValueError, match=r"old must stand once in rtl\.kit\.queue, not 0 times"):
        mutation.apply("some source")


def test_a_stale_mutation_keeps_the_verdict() -> None:
    """The claim is proved all the same; the proof does not hold until the mutation fits again."""
    proof = find_proof("queue")
    stale = Mutation(name="stale", module="rtl.kit.queue", old="no such text", new="")
    said: list[str] = []
    (outcome,) = run([replace(proof, mutations=(stale,))], progress=said.append)
    assert outcome.verdict.status == "PASS"
    assert [verdict.status for _, verdict in outcome.caught] == ["STALE"]
    assert not outcome.holds
    assert any(line.startswith("queue: PASS in ") for line in said)


def test_a_mutation_that_cannot_be_built_keeps_the_others() -> None:
    """Its proof does not hold; what comes behind it is run all the same."""
    proof = find_proof("queue")
    broken = Mutation(
        name="broken", module="rtl.kit.queue", old="pop.eq(take & ring.occupied),", new="pop.eq(take_it),",
    )
    (outcome,) = run([replace(proof, mutations=(broken, *proof.mutations[:1]))])
    assert outcome.verdict.status == "PASS"
    assert [verdict.status for _, verdict in outcome.caught] == ["ERROR", "FAIL"]
    assert not outcome.holds


def test_unknown_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nothing"]) == 2
    assert "must be one of queue" in capsys.readouterr().err
    assert FormalError.__doc__
