"""Adds the scripted engine to each `python -m pathway_local`, so also to those that a cluster's nodes start."""

import sys

if "pathway_local" in sys.orig_argv:
    from scripted_kind import register

    register()
