"""What every part needs: random numbers, threads, processes, validation, files on disk."""
