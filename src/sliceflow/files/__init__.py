"""Files: archives with checksums, which hold models, model cards and checkpoints."""
