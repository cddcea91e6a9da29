"""The bodies of requests: their fields are checked before anything is done."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat, StringConstraints

from sliceflow.core._validation import MAX_SEED

MAX_TEXT, MAX_LIST = 1000, 10_000
"""Maximum number of characters of a value, and of values in a list."""

Format = Literal["json", "png", "npz", "csv", "arrow"]

Text = Annotated[str, StringConstraints(max_length=MAX_TEXT)]
Scalar = bool | Annotated[int, Field(ge=-(2**63), lt=2**63)] | FiniteFloat | Text | None


class Body(BaseModel):
    """The body of a request; fields that it does not have are errors."""

    model_config = ConfigDict(extra="forbid")


class Range(Body):
    """A range of values, both ends included; an end that is left out is open."""

    low: Scalar = Field(None, alias="from")
    high: Scalar = Field(None, alias="to")


class AnyOf(Body):
    """One of several values."""

    values: list[Scalar] = Field(alias="any", min_length=1, max_length=MAX_LIST)


Value = Scalar | Range | AnyOf
Given = Scalar | Annotated[list[Scalar], Field(max_length=MAX_LIST)] | dict[Text, Value]


class Asked(Body):
    """What all requests have."""

    seed: int | None = Field(
        None,
        ge=0,
        le=MAX_SEED,
        strict=True,
        description="The same seed gives the same samples. By default one is drawn and returned.",
    )
    format: Format = Field("json", description="The format of the answer.")


class SamplesRequest(Asked):
    """A request for new samples."""

    n: int = Field(100, ge=1, strict=True, description="Number of samples.")
    given: Given = Field(
        None,
        description='What samples are given: a label; numbers; or values by column, {"age": 30}, '
        '{"age": {"from": 30, "to": 40}}, {"city": {"any": ["Paris", "Rome"]}}, with null for a '
        "gap. GET /v1/models says what a model can be given.",
    )


class InpaintRequest(Asked):
    """A request to fill in the missing part of images."""

    images: list[str] = Field(
        min_length=1, max_length=MAX_LIST, description="Images as PNG files, in base64."
    )
    n: int = Field(1, ge=1, strict=True, description="Number of samples for each image.")


class ImputeRequest(Asked):
    """A request to fill the gaps of rows."""

    rows: list[dict[Text, Scalar]] = Field(
        min_length=1,
        max_length=MAX_LIST,
        description="Rows as values by column. What is null or left out is filled in.",
    )
    n: int = Field(1, ge=1, strict=True, description="Number of completed rows for each row.")
