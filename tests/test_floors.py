"""Imports go one way: a module imports only from its own floor's neighbours named here and from floors below."""

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "pathway_local"
