"""Point-to-point operations: mini packets into receive queues, and writes to remote memory."""
