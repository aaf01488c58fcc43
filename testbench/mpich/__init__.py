"""MPICH's own tests of collectives, communicators, errors and threads, under MPICH and on the NICs."""
