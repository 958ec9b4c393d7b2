"""The parts of the default policy, `Auto`."""
