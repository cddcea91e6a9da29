"""A measured number, as it is printed and stored."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """A number with its name in the ledger, its unit, and a description."""

    name: str
    value: float
    unit: str
    about: str

    def __str__(self) -> str:
        return f"{self.value:9.4g} {self.unit:5} {self.about}"
