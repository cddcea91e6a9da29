import pytest
import torch
from hypothesis import settings

# Fixed seeds: a failure is the same for everyone. No deadline: the machine may be shared.
settings.register_profile("laws", max_examples=200, derandomize=True, deadline=None)
settings.load_profile("laws")


@pytest.fixture(autouse=True)
def two_threads():
    """Tests that set the number of threads leave no trace."""
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(2)
