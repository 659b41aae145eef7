"""What passes between a host and its engine's process comes out as it went in."""

from hypothesis import given
from hypothesis import strategies as st

from pathway_local.engines.passes import Pass, PassResult, Sampling
from pathway_local.engines.wire import BLOCK, MessageLines, PassReader, PassWriter, line, read_result, result_message

SHARED = tuple(range(3 * BLOCK))
ids = st.lists(st.integers(0, 2**32 - 1), max_size=12).map(tuple)
prompts = st.builds(lambda kept, own: SHARED[:kept] + own, st.integers(0, len(SHARED)), ids)
passes = st.builds(
    Pass,
    id=st.text(),
    ids=prompts,
    grammar=st.none() | st.text() | st.sampled_from(["start: /a/", "start: /b/"]),
    max_tokens=st.integers(1, 9),
    sampling=st.builds(Sampling, temperature=st.floats(0, 2), seed=st.integers(0, 2**31)),
    stop_ids=ids,
    logprob_ids=ids,
)
logprobs = st.dictionaries(st.integers(0, 2**32 - 1), st.floats(max_value=0) | st.just(float("-inf")), max_size=4)
results = st.builds(PassResult, id=st.text(), ids=ids, logprobs=st.lists(logprobs, max_size=3).map(tuple))


@given(st.lists(passes, max_size=8), st.integers(1, 5000))
def test_passes(given_passes: list[Pass], piece: int) -> None:
    writer, reader, lines = PassWriter(), PassReader(), MessageLines()
    sent = b"".join(line(writer.message(item)) for item in given_passes)
    messages = [message for at in range(0, len(sent), piece) for message in lines.feed(sent[at : at + piece])]
    assert list(map(reader.read, messages)) == given_passes


def test_what_passes_share_is_written_once() -> None:
    writer = PassWriter()
    grammar = "start: /a rubric's/\n" * 10
    first, second = (len(line(writer.message(Pass("x", (*SHARED, n), grammar, 1)))) for n in range(2))
    assert second < first / 5


@given(results)
def test_results(result: PassResult) -> None:
    [message] = MessageLines().feed(line(result_message(result)))
    assert read_result(message) == result
