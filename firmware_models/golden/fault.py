"""Errors of the execution of sequences."""


class ExecutionError(Exception):
    """The descriptors mean nothing, or do not fit each other."""


class DeadlockError(ExecutionError):
    """Nothing can go on, and somebody waits; the message says who and for what."""


class DuplicateKeyError(ExecutionError):
    """Two packets were alive under one key."""


class LeftoverError(ExecutionError):
    """All operations ended, and packets remain that nobody consumed."""
