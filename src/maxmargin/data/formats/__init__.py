"""Files in and out: svmlight text, CSV, Parquet and Arrow, packed or not."""
