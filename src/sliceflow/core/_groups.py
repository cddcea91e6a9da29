"""Which samples belong together: the same ones, whoever replays a flow."""

SAMPLE_BATCH = 256
"""Number of samples that start from one seed, and are moved together: always the same, since bits
may depend on shapes."""

NARROW, NARROW_BATCHES = 64, 8
"""Of tables with at most so many coordinates, so many batches are moved together: a step of one
batch is so short that calling it takes longer."""


def group_size(shape: tuple[int, ...], n_coordinates: int) -> int:
    """Return the number of samples x of this shape that are moved together, and share their noise.

    Particles have ``n_coordinates``, with those of what is given.
    """
    is_narrow = n_coordinates <= NARROW and len(shape) == 1
    return NARROW_BATCHES * SAMPLE_BATCH if is_narrow else SAMPLE_BATCH
