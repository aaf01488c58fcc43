"""Runs programs with the NICs of preset `small`, and fetches programs of others."""

import hashlib
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from firmware_models.config import Config
from sim.mpi.interposer import MpiError, tool
from sim.mpi.policy import Policy
from sim.mpi.run import Program, ProgramResult, run_program
from sim.mpi.sections import Section

PROGRAMS = Path(__file__).with_name("programs")
PINS = tomllib.loads(Path(__file__).with_name("pins.toml").read_text())


@pytest.fixture(scope="session", autouse=True)
def mpi() -> None:
    """Skips where there is no MPI."""
    try:
        tool("mpiexec")
    except MpiError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="session")
def fetched() -> Callable[[str], Path]:
    """The file of a package in ``pins.toml``: fetched if it is not there yet, and what was pinned; skips without it."""
    def call(package: str) -> Path:
        pin, folder = PINS[package], Path(__file__).parents[3] / "build" / "fetched"
        path = folder / pin["file"]
        if not path.exists():
            done = subprocess.run(
                [sys.executable, "-m", "pip", "download", "-q", "--no-deps", *pin["options"], "-d", folder,
                 f"{package}=={pin['version']}"], capture_output=True, text=True, check=False, timeout=600,
            )
            if not path.exists():
                pytest.skip(f"pip does not bring {path.name}: {done.stderr.strip()[-200:]}")
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        assert digest == pin["sha256"], f"{path} is not what was pinned"
        return path

    return call


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """The program that a C file of `programs` makes with these flags."""
    folder = tmp_path_factory.mktemp("programs")

    def call(name: str, *flags: str) -> str:
        program = folder / "-".join([name.removesuffix(".c"), *flags])
        if not program.exists():
            subprocess.run([tool("mpicc"), *flags, "-o", program, PROGRAMS / name, "-lpthread"], check=True)
        return str(program)

    return call


@pytest.fixture
def run(small: Config) -> Callable[..., ProgramResult]:
    """Runs `python PROGRAM ARGUMENTS`, or `command`; other keywords are those of the policy and of the program."""
    def call(program: str, *arguments: str, ranks: int, algorithms: Any = None, patience: float = 8.0,
             work_patience: float = 600.0, frequency: float | None = None, **options: Any) -> ProgramResult:
        policy = Policy(
            algorithms=algorithms or {}, patience=patience, work_patience=work_patience,
            simulated=frequency is not None, frequency=frequency or 500e6,
        )
        command = options.pop("command", [sys.executable, str(PROGRAMS / program), *arguments])
        options.setdefault("sections", [Section(ranks, command)])
        return run_program(Program(
            config=small, topology=f"star:{ranks}", policy=policy, **options,
        ))

    return call
