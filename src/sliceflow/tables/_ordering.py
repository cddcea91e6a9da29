"""An order of words in which a tree can ask: next to each other are those that go with the same.

Words have no order of their own, and a tree that asks "is the word before M?" would learn little.
They are ordered anew for each column that is predicted: by the mean of a number and, if words are
predicted, by the first axis of the shares of these (as in correspondence analysis).
"""

import numpy as np

PRIOR_ROWS = 10
"""A word that occurs this often counts half: the order of rare words is chance."""


def places_of_words(words: np.ndarray, n_words: int, targets: np.ndarray) -> np.ndarray:
    """Return the place of each word and, as the last, of a gap: (n_words + 1,).

    Parameters
    ----------
    words
        The word of each row, (n,); `GAP`, which is −1, for none.
    n_words
        How many there are.
    targets
        What goes with them, (n, T).
    """
    sums = np.zeros((n_words + 1, targets.shape[1]))
    np.add.at(sums, words, targets - targets.mean(axis=0))
    counts = np.bincount(words % (n_words + 1), minlength=n_words + 1)
    means = sums / (counts + PRIOR_ROWS)[:, None]
    _, _, axes = np.linalg.svd(np.sqrt(counts)[:, None] * means, full_matrices=False)
    places: np.ndarray = means @ axes[0]
    places /= max(np.sqrt(counts @ places**2 / max(1, len(words))), 1e-300)
    return places
