"""torchrun with the settings that a flow needs: `python -m sliceflow.launch`.

It takes torchrun's options, and then your script.

    python -m sliceflow.launch --nproc-per-node 2 fit.py
    python -m sliceflow.launch --nnodes 1:4 --rdzv-endpoint first-host:29500 fit.py

When a process is killed, all processes restart, from the last checkpoint if the fit has any:
``fit(..., distributed=True, checkpoints=folder)``. The result does not depend on the number of
processes. The launch ends when the same error occurs in three attempts in a row;
it is printed once.
"""
