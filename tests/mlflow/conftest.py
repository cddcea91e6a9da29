"""MLflow must not send anything from tests; it reads this when it is imported."""

import os

os.environ["MLFLOW_DISABLE_TELEMETRY"] = "true"
