"""Scores chatbot answers on your own machine with an open-weight judge."""

__version__ = "0.1.0"
