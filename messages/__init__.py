"""What is said: one schema a kind, versioned; no behaviour."""
