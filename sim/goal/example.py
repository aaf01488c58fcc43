"""An example of a schedule, as a generator: iterations of a stencil in one dimension, each with an allreduce.

`python -m sim.goal.example > sim/goal/example.goal` makes the file that stands beside it.
"""

import sys


def example(*, n_ranks: int = 4, iterations: int = 2, halo_bytes: int = 2_048, calc_ns: int = 3_000) -> str:
    """The schedule: a rank sends its edges, calculates meanwhile, then at its edges, and adds up the residual."""
    lines = [
        "// Made by python -m sim.goal.example: halo exchange of a stencil, then the norm of the residual.",
        f"num_ranks {n_ranks}", "",
    ]
    for rank in range(n_ranks):
        lines.append(f"rank {rank} {{")
        before = ""
        for step in range(iterations):
            begun = [f"    i{step}: calc {calc_ns} cpu 1"]
            halos = []
            for side, other in (("l", rank - 1), ("r", rank + 1)):
                if 0 <= other < n_ranks:
                    begun.append(f"    s{side}{step}: send {halo_bytes}b to {other} tag {step}")
                    halos.append(f"r{side}{step}")
                    begun.append(f"    {halos[-1]}: recv {halo_bytes}b from {other} tag {step}")
            lines += begun
            if before:
                lines += [f"    {line.split(':')[0].strip()} requires {before}" for line in begun]
            lines.append(f"    e{step}: calc {calc_ns // 10}")
            lines += [f"    e{step} requires {label}" for label in (f"i{step}", *halos)]
            lines += [f"    n{step}: allreduce 8b op sum dtype float64", f"    n{step} requires e{step}"]
            before = f"n{step}"
        lines += ["}", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(example())
