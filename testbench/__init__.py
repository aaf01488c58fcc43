"""Everything that drives or checks the hardware: the runner, the stream kit, models of links and hosts, benches."""
