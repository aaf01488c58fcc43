"""NICs and switches as code for the lanes of words: Amaranth's netlists to C++."""
