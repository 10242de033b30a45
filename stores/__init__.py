"""What is remembered: durable records, one file a noun; no decisions."""
