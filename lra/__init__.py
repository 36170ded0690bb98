"""A Long Range Arena benchmark harness: attention variants compared in one shared encoder."""

__version__ = "0.1.0"
