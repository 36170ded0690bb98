"""What a training step's counted products, traffic and launches, each alone, would take at a device's rates."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from lra.training.counting import Work, copy_rate, median_seconds, product_rate

PRODUCT_SIDE = 4096  # of the square matrices whose product shows a GPU's best rate
TINY_OPERATORS = 200  # in a row, whose time is that of their launches


@dataclass(frozen=True, kw_only=True)
class DeviceRates:
    """What a device does at best per second, and the seconds between two operators of eager torch."""

    flops_per_second: float
    bytes_per_second: float
    launch_seconds: float


# NVIDIA H100 SXM5 80 GB (data sheet, 2023; without sparsity): FLOP/s by precision, and the memory's rate. It has no
# launches: 5 µs is an assumption, of a Python program that runs one small operator after the other.
_H100_FLOPS = {"32-true": 67e12, "tf32": 494e12, "bf16-mixed": 989e12}
DATA_SHEETS = {
    "h100": {
        precision: DeviceRates(flops_per_second=flops, bytes_per_second=3.35e12, launch_seconds=5e-6)
        for precision, flops in _H100_FLOPS.items()
    }
}


def measured_rates(device: torch.device, dtype: torch.dtype) -> DeviceRates:
    """Measure the rates of large products of this type, of large copies, and of tiny operators."""
    flops = product_rate(device) if device.type == "cpu" else _large_product_rate(device, dtype)
    tiny = torch.zeros(1, device=device)

    def operators() -> None:
        for _ in range(TINY_OPERATORS):
            tiny.add_(1)

    seconds = median_seconds(operators, device, least=0.01) / TINY_OPERATORS
    return DeviceRates(flops_per_second=flops, bytes_per_second=copy_rate(device), launch_seconds=seconds)


def _large_product_rate(device: torch.device, dtype: torch.dtype) -> float:
    left, right = (torch.randn(PRODUCT_SIDE, PRODUCT_SIDE, device=device, dtype=dtype) for _ in range(2))
    return 2 * PRODUCT_SIDE**3 / median_seconds(lambda: left @ right, device)


@dataclass(frozen=True, kw_only=True)
class Ceiling:
    """The seconds that the products, the memory traffic and the launches of a step need, each alone.

    `traffic` counts every operator's inputs and outputs, so caches and fused operators may need less.
    """

    products: float
    traffic: float
    launches: float

    @property
    def seconds(self) -> float:
        """The largest of the three: a step that runs one operator after the other takes no less."""
        return max(self.products, self.traffic, self.launches)

    @property
    def bound(self) -> str:
        """What needs the most time: `products`, `traffic` or `launches`."""
        return max(("products", "traffic", "launches"), key=lambda name: float(getattr(self, name)))


def ceiling(work: Work, rates: DeviceRates) -> Ceiling:
    """Compute what a step's work needs at a device's rates."""
    return Ceiling(
        products=work.flops / rates.flops_per_second,
        traffic=work.bytes / rates.bytes_per_second,
        launches=work.operators * rates.launch_seconds,
    )
