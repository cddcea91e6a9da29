"""What notebooks show: a panel of facts, with a picture or rows."""
