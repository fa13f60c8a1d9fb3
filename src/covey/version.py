"""The version of Covey; the package's metadata is made from this line."""

__version__ = "0.2.0"
