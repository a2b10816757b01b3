"""The command-line face. Heavy imports wait inside the commands: starting must cost nothing."""
