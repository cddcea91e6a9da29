"""What the documentation claims, measured: `python -m benchmarks`."""
