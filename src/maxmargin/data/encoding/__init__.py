"""Tables as they come, as rows of numbers: one small encoder a column, kept with the model."""
