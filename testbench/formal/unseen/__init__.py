"""Nothing follows a payload that is not valid: a claim about all registers of an offload unit, from any state."""
