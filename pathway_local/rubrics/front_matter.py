"""Writes front matter."""

from collections.abc import Mapping

import yaml


class _Dumper(yaml.SafeDumper):
    """Writes a text of several lines as a block, where YAML can, and no alias, which our reader refuses."""

    def ignore_aliases(self, data: object) -> bool:
        return True


_TEXT = "tag:yaml.org,2002:str"
_Dumper.add_representer(
    str, lambda dumper, text: dumper.represent_scalar(_TEXT, text, style="|" if "\n" in text else None)
)


def write_front(front: Mapping[str, object]) -> str:
    """Return the keys and values as YAML lines."""
    return str(yaml.dump(dict(front), Dumper=_Dumper, width=120, allow_unicode=True, sort_keys=False))
