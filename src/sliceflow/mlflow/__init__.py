"""MLflow: models as a flavour of it, without pickle.

>>> import sliceflow.mlflow  # doctest: +SKIP
>>> info = sliceflow.mlflow.log_model(model, "digits")  # doctest: +SKIP
>>> mlflow.pyfunc.load_model(info.model_uri).predict(rows)  # doctest: +SKIP
"""

from sliceflow.mlflow._flavour import _load_pyfunc, load_model, log_model, save_model

__all__ = ["_load_pyfunc", "load_model", "log_model", "save_model"]  # MLflow calls the first one
