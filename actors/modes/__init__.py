"""What a process runs behind its thread."""
