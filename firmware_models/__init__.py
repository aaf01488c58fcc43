"""Golden models: schedules, arithmetic, executor, and the ABI. No hardware description, no simulator."""
