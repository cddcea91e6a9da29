"""torchrun, as a flow needs it: `python -m sliceflow.launch`, with its options and your script.

    python -m sliceflow.launch --nproc-per-node 2 fit.py
    python -m sliceflow.launch --nnodes 1:4 --rdzv-endpoint first-host:29500 fit.py

A process that is killed ends the attempt of all, and they go on from the last checkpoint, as many
as there are: the bits do not depend on how many.
"""

import os
import sys

DEFAULTS = ("--rdzv-backend=c10d", "--max-restarts=100", "--monitor-interval=0.5")
"""What comes before one's own options, which may say otherwise."""


def main(arguments: list[str]) -> None:
    """Start processes on this host, which meet those of other hosts, if there are any."""
    # With a store that agents share with their workers, those of a second attempt would dial the
    # addresses of the first (pytorch issues 135712 and 167288).
    os.environ["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    from torch.distributed.run import main as torchrun

    torchrun([*DEFAULTS, *arguments])


if __name__ == "__main__":
    main(sys.argv[1:])
