"""The map for particles that it was not made from: where few are, as many move on average.

T = F_q⁻¹ ∘ F_p follows every particle of p, to the outermost. That is right for these particles:
what a step does to them the next one sees. Others far out would be moved by what happens to one or
two, by chance, and nothing sees it: step after step it adds up.
"""

from dataclasses import replace

import torch
from torch import Tensor
from torch.nn.functional import pad

from sliceflow.transport.histogram import HistogramMap

TAIL = 0.05
"""The share of particles that is a tail, on either side."""


def with_calm_tails(T: HistogramMap, share: float = TAIL) -> HistogramMap:
    """Return the map with each tail made a line, which moves its particles as T does on average.

    It still is monotone and continuous, and leads nowhere beyond the extremes of q.
    """
    edge, end = T.p.grid.edges(), (T.start + T.rise).double()
    upto = T.p.counts.cumsum(dim=1) / T.p.counts.sum(dim=1, keepdim=True).double()
    lower, upper = upto <= share, pad(upto, (1, -1)) >= 1 - share
    first, beyond = lower.sum(dim=1, keepdim=True), (~upper).sum(dim=1, keepdim=True)
    joins = torch.cat([first, beyond], dim=1)  # the first cells after one tail and of the other
    ends = pad(pad(upto, (1, 0)).gather(1, joins), (1, 0))
    ends = pad(ends, (0, 1), value=1.0)
    x = edge.gather(1, joins)
    y = torch.cat([T.start.gather(1, first).double(), end.gather(1, beyond - 1)], dim=1)
    tails = [0, 2]
    slope = (T.q.means(ends)[:, tails] - y) / (T.p.means(ends)[:, tails] - x)
    slope = slope.nan_to_num(0, 0, 0).clamp(min=0)  # if values are all the same, or very few
    low, high = T.q.grid.low.double()[:, None], T.q.grid.high.double()[:, None]
    lines = [(y[:, [i]] + slope[:, [i]] * (edge - x[:, [i]])).clamp(low, high) for i in (0, 1)]

    def joined(inner: Tensor, *tails: Tensor) -> Tensor:
        left, right = (tail.to(inner.dtype) for tail in tails)
        return torch.where(lower, left, torch.where(upper, right, inner))

    start = joined(T.start, *(line[:, :-1] for line in lines))
    rise = joined(T.rise, *(line.diff(dim=1) for line in lines))
    return replace(T, start=start, rise=rise)
