"""Fit one rival with its default settings, and draw from it; run by the rivals' own Python.

python _rival.py treeffuser task.npz result.npz
"""

import sys
from collections.abc import Callable
from time import perf_counter

import numpy as np

Draw = Callable[[np.ndarray, int], np.ndarray]
"""Draws m samples for each of k given y, (k, l): (k, m, d)."""


def lightgbm(x: np.ndarray, y: np.ndarray) -> Draw:
    """Fit a regression to each of 19 quantiles; samples are drawn between them."""
    from lightgbm import LGBMRegressor

    levels = np.linspace(0.05, 0.95, 19)
    each = [LGBMRegressor(objective="quantile", alpha=level, verbose=-1) for level in levels]
    for regression in each:
        regression.fit(y, x[:, 0])

    def draw(given: np.ndarray, m: int) -> np.ndarray:
        quantiles = np.sort(np.stack([r.predict(given) for r in each], axis=1), axis=1)
        at = (np.arange(m) + 0.5) / m
        return np.stack([_interpolated(at, levels, row) for row in quantiles])[..., None]

    return draw


def _interpolated(at: np.ndarray, levels: np.ndarray, quantiles: np.ndarray) -> np.ndarray:
    """Return the quantiles at other levels; the outermost lines go on beyond the last levels."""
    inside = np.interp(at, levels, quantiles)
    first, last = (np.diff(quantiles)[i] / np.diff(levels)[i] for i in (0, -1))
    below = np.minimum(at - levels[0], 0) * first
    above = np.maximum(at - levels[-1], 0) * last
    return inside + below + above


def ngboost(x: np.ndarray, y: np.ndarray) -> Draw:
    """Fit a boosted Gaussian."""
    from ngboost import NGBRegressor

    model = NGBRegressor(verbose=False, random_state=0).fit(y, x[:, 0])

    def draw(given: np.ndarray, m: int) -> np.ndarray:
        predicted, rng = model.pred_dist(given).params, np.random.default_rng(0)
        samples = rng.normal(predicted["loc"], predicted["scale"], size=(m, len(given)))
        return samples.T[..., None]

    return draw


def treeffuser(x: np.ndarray, y: np.ndarray) -> Draw:
    """Fit a diffusion by boosted trees."""
    from treeffuser import Treeffuser

    model = Treeffuser(seed=0).fit(y, x)
    return lambda given, m: np.moveaxis(
        np.reshape(model.sample(given, n_samples=m, seed=0), (m, len(given), -1)), 0, 1
    )


def npe(x: np.ndarray, y: np.ndarray) -> Draw:
    """Train a network for the posterior."""
    import torch
    from sbi.inference import NPE

    torch.manual_seed(0)
    theta, seen = (torch.from_numpy(values).float() for values in (x, y))
    inference = NPE(prior=None, show_progress_bars=False)
    inference.append_simulations(theta, seen).train()
    posterior = inference.build_posterior(sample_with="direct")

    def draw(given: np.ndarray, m: int) -> np.ndarray:
        rows = torch.from_numpy(given).float()
        each = [posterior.sample((m,), x=row, show_progress_bars=False) for row in rows]
        return torch.stack(each).numpy()

    return draw


METHODS = {"lightgbm": lightgbm, "ngboost": ngboost, "treeffuser": treeffuser, "npe": npe}


def main(method: str, task: str, result: str) -> None:
    """Read a task, and write samples and seconds."""
    with np.load(task) as found:
        x, y, given, m = (found[name] for name in ("x", "y", "given", "m"))
    started = perf_counter()
    draw = METHODS[method](x, y)
    fitted = perf_counter()
    samples = draw(given, int(m))
    seconds = {"fit": fitted - started, "sample": perf_counter() - fitted}
    np.savez(result, samples=samples, **seconds)


if __name__ == "__main__":
    main(*sys.argv[1:])
