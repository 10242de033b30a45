"""Who acts: one actor a file."""
