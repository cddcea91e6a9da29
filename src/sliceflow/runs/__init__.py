"""Running a fit: its plan, forecast, log in a folder, and report."""
