"""Shared utilities: random numbers, threads, processes, validation, files on disk."""
