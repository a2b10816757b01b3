"""What every solver uses: the run (stopping, history, certificate) and inner products."""
