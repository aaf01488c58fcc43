"""A sum that GCC 12.2 gets wrong from -O2 on, where it makes vectors of statements (docs/cluster.md): generated code is
full of such sums, and is compiled so that it is right.
"""

import subprocess
from pathlib import Path

import pytest

from sim.cluster import verilated
from sim.cluster.lanes import build as lanes
from testbench.verilated_model import COMPILER

PROGRAM = """
#include <cstdio>
struct S { unsigned char p[16]; unsigned char n; };
__attribute__((noipa)) void count(S* s) {
    const unsigned char* p = s->p;
    s->n = (p[0]==0)+(p[1]==0)+(p[2]==0)+(p[3]==0)+(p[4]==0)+(p[5]==0)+(p[6]==0)+(p[7]==0)
         + (p[8]==0)+(p[9]==0)+(p[10]==0)+(p[11]==0)+(p[12]==0)+(p[13]==0)+(p[14]==0)+(p[15]==0);
}
int main() {
    for (int zeros = 0; zeros <= 16; ++zeros) {
        S s = {};
        for (int k = zeros; k < 16; ++k) s.p[k] = 1;
        count(&s);
        if (s.n != zeros) return std::printf("%d zeros counted as %d", zeros, s.n), 1;
    }
}
"""


@pytest.mark.parametrize("flag", sorted({*lanes.GENERATED_CODE, *verilated.GENERATED_CODE}))
def test_generated_code_is_compiled_right(flag: str, tmp_path: Path) -> None:
    source, program = tmp_path / "count.cpp", tmp_path / "count"
    source.write_text(PROGRAM)
    subprocess.run([COMPILER, flag, str(source), "-o", str(program)], check=True)
    outcome = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    assert (outcome.returncode, outcome.stdout) == (0, "")
