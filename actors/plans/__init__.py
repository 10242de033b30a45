"""What actors decide: pure functions of (state, event, now) to (state, effects)."""
