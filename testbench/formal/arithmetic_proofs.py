"""Proofs of the floating-point units, at formats small enough for a solver."""

from testbench.formal.proof import Mutation, Proof

_ALIGN = "rtl.reduce.float_align"
_NORMALISE = "rtl.reduce.float_normalise"
_MULTIPLY = "rtl.reduce.float_multiply"
_CONTRACT = "testbench.formal.contracts.arithmetic:FloatContract"
_NUMBER = {"exponent_bits": 3, "fraction_bits": 4}

_ADD_MUTATIONS = (
    Mutation(
        name="subnormals-have-their-field-as-exponent", module=_ALIGN,
        old='v = pipeline.step("order", v, closer=v.hidden_a ^ v.hidden_b)',
        new='v = pipeline.step("order", v, closer=Const(0, 1))',
    ),
    Mutation(
        name="lost-bits-are-forgotten", module=_ALIGN,
        old="small = Cat(v.subtract & ~lost, (bit ^ v.subtract for bit in small))",
        new="small = Cat(v.subtract, (bit ^ v.subtract for bit in small))",
    ),
    Mutation(
        name="halves-are-rounded-up", module=_NORMALISE,
        old="~carry & normal & word[0] & (word[1] | round_bit | sticky),",
        new="~carry & normal & word[0],",
    ),
    Mutation(
        name="infinity-less-infinity-is-infinity", module=_ALIGN,
        old='"nan_if_special": v.payload.any() | (v.subtract & v.together)',
        new='"nan_if_special": v.payload.any()',
    ),
    Mutation(
        name="sum-beyond-the-largest-number-keeps-its-fraction", module=_NORMALISE,
        old="special=v.special | (carry & v.last),",
        new="special=v.special,",
    ),
)
_MULTIPLY_MUTATIONS = (
    Mutation(
        name="sticky-bit-is-lost", module=_MULTIPLY,
        old="sticky = v.lost | (carry & word[0])",
        new="sticky = carry & word[0]",
    ),
    Mutation(
        name="halves-are-rounded-up", module=_MULTIPLY,
        old="up=guard & (sticky | fraction[0]),",
        new="up=guard,",
    ),
    Mutation(
        name="zero-times-infinity-is-infinity", module=_MULTIPLY,
        old="(special_b & (payload_b | zero_a))",
        new="(special_b & payload_b)",
    ),
    Mutation(
        name="overflow-after-a-carry-is-missed", module=_MULTIPLY,
        old="over=hidden & (v.over | (carry & v.over_carried)),",
        new="over=hidden & v.over,",
    ),
)

ARITHMETIC_PROOFS: tuple[Proof, ...] = (
    *(
        Proof(
            name=f"float-add-{cycles}",
            claim=f"every sum of two numbers of 8 bits is IEEE 754's, {cycles} cycles later",
            contract=_CONTRACT, parameters={"operation": "add", "cycles": cycles, **_NUMBER},
            depth=cycles + 6, mutations=_ADD_MUTATIONS, quick=False,
        )
        for cycles in (5, 8, 15)
    ),
    Proof(
        name="float-multiply",
        claim="every product of two numbers of 8 bits is IEEE 754's",
        contract=_CONTRACT, parameters={"operation": "multiply", "cycles": 8, **_NUMBER},
        depth=14, mutations=_MULTIPLY_MUTATIONS, quick=False,
    ),
)
