"""Large-margin learning that scales, every answer with a certificate of how good it is."""

__version__ = "0.1.0"
