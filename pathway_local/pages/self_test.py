"""A self-test of judges as one page to send; it holds no text and no id of a case."""

from collections.abc import Sequence
from shlex import join

from pathway_local.pages.page import page
from pathway_local.results.self_test import SelfTest
from pathway_local.results.views.self_test import self_test_view
from pathway_local.system.visible import visible
from pathway_local.words.language import Language


def self_test_page(found: SelfTest, command: Sequence[str], now: str) -> str:
    """Return the page, made at the time `now` in ISO 8601."""
    say, view = Language("en"), self_test_view(found)
    return page(
        "self_test.html",
        say,
        view.title,
        made=say.time(now),
        view=view,
        command=visible(join(command)),
    )
