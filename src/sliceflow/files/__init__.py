"""Files: an archive with checksums, and models, model cards and checkpoints in it."""
