"""Linear machines in memory: cutting planes (OCAS, CPA), dual coordinate descent, Newton."""
