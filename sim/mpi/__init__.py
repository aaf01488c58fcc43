"""MPI programs, unchanged, whose collectives the simulated NICs carry out: ``conic mpiexec``."""
