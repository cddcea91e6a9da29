"""Constructor parameters as scikit-learn expects them, without importing scikit-learn."""

import inspect
from typing import Any, Self


class Parameters:
    """Parameters are stored as given, under their names, and read back from the signature."""

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        parameters = inspect.signature(cls).parameters.values()
        return {parameter.name: parameter.default for parameter in parameters}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return all parameters; ``deep`` has no effect, and is there for scikit-learn."""
        return {name: getattr(self, name) for name in self._defaults()}

    def set_params(self, **parameters: Any) -> Self:
        """Set some parameters."""
        known = list(self._defaults())
        for name, value in parameters.items():
            if name not in known:
                raise ValueError(f"Invalid parameter {name!r}: the parameters are {known}")
            setattr(self, name, value)
        return self

    def __sklearn_tags__(self) -> Any:
        """Return what input this estimator accepts. Only scikit-learn calls this."""
        from sklearn.utils import InputTags, Tags, TargetTags

        return Tags(None, TargetTags(required=False), input_tags=InputTags())

    def __repr__(self) -> str:
        defaults = self._defaults()
        changed = {k: v for k, v in self.get_params().items() if repr(v) != repr(defaults[k])}
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in changed.items())})"
