"""The compiled core: one event at a time, every packet of every flow; and the update rules, a header each."""
