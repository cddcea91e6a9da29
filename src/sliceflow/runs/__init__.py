"""A fit as it runs: planned, forecast, logged in a folder, and reported."""
