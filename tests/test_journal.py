import os
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgsupport.errors import StoreError
from rgsupport.journal import Journal
from rgsupport.shards import Shard
from rgsupport.types import Completion, FinishReason, LogprobSummary

PROBLEM = "0123456789abcdef"


def completion(index, *, text="<answer>1</answer>", logprobs=None):
    return Completion(PROBLEM, index, 1000 + index, text, FinishReason.STOP, 7, logprobs)


def contents(folder):
    return [entry for _, entry in Journal(folder).read_all()]


def test_log_probabilities_survive_the_journal(tmp_path):
    journal = Journal(tmp_path)
    kept = completion(0, logprobs=LogprobSummary(-3.5, -0.5, None, 1.25))
    journal.append(kept)
    assert contents(tmp_path) == [kept]


@given(text=st.text(max_size=40))
def test_any_text_survives_the_journal(tmp_path_factory, text):
    folder = tmp_path_factory.mktemp("journal")
    journal = Journal(folder)
    journal.append(completion(0, text=text))
    journal.close()
    assert contents(folder) == [completion(0, text=text)]


@given(cut=st.integers(0, 10_000), seed=st.integers(0, 99))
def test_a_journal_cut_at_any_byte_yields_the_whole_lines_before_the_cut(tmp_path_factory, cut, seed):
    folder = tmp_path_factory.mktemp("journal")
    journal = Journal(folder)
    written = [completion(index, text="x" * random.Random(seed + index).randrange(50)) for index in range(20)]
    for entry in written:
        journal.append(entry)
    journal.close()
    (path,) = folder.glob("journal-*.jsonl")
    data = path.read_bytes()[:cut]
    path.write_bytes(data)
    assert contents(folder) == written[: data.count(b"\n")]


@pytest.mark.parametrize(
    "line", [b"[" * 99_999 + b"\n", b"{}\n", b"nonsense\n", b'{"problem_id": 1, "text": 2}\n', b"[]\n", b"\xff\xfe\n"]
)
def test_a_damaged_line_inside_a_journal_is_refused_with_its_number(tmp_path, line):
    journal = Journal(tmp_path)
    journal.append(completion(0))
    journal.close()
    (path,) = tmp_path.glob("journal-*.jsonl")
    path.write_bytes(path.read_bytes() + line)
    with pytest.raises(StoreError, match="line 2"):
        contents(tmp_path)


def test_the_journal_drops_only_files_whose_completions_are_all_in_shards(tmp_path):
    first, second = Journal(tmp_path), Journal(tmp_path)
    first.append(completion(0))
    second.append(completion(1))
    for journal in (first, second):
        journal.close()
    Journal(tmp_path).drop([Shard(PROBLEM, 0, 1)])
    assert [entry.sample_index for _, entry in Journal(tmp_path).read_all()] == [1]


def test_a_file_that_is_not_being_written_is_deleted_when_all_its_completions_are_released(tmp_path, monkeypatch):
    monkeypatch.setattr("rgsupport.journal._FILE_BYTES", 500)
    journal = Journal(tmp_path)
    places = [journal.append(completion(index)) for index in range(20)]
    files = {place.path for place in places}
    assert len(files) > 2
    first, last = places[0].path, places[-1].path
    journal.release([place for place in places if place.path != first])
    assert set(tmp_path.iterdir()) == {first, last}
    journal.release([place for place in places if place.path == first])
    assert set(tmp_path.iterdir()) == {last}
    journal.close()
    assert not list(tmp_path.iterdir())


def test_a_file_with_a_completion_that_is_in_no_shard_stays(tmp_path):
    journal = Journal(tmp_path)
    places = [journal.append(completion(index)) for index in range(3)]
    journal.release(places[:2])
    journal.close()
    assert [entry.sample_index for entry in contents(tmp_path)] == [0, 1, 2]


def test_a_journal_never_touches_the_files_of_another_one(tmp_path):
    one, other = Journal(tmp_path), Journal(tmp_path)
    place = other.append(completion(0))
    one.append(completion(1))
    one.release([place])
    one.close()
    other.append(completion(2))
    assert sorted(entry.sample_index for entry in contents(tmp_path)) == [0, 1, 2]


@given(order=st.permutations(range(12)))
def test_completions_are_read_back_from_their_places_in_the_order_asked(tmp_path_factory, order):
    folder = tmp_path_factory.mktemp("journal")
    journal = Journal(folder)
    places = [journal.append(completion(index, text="é" * index)) for index in range(12)]
    assert dict(Journal(folder).read_all()) == dict(zip(places, journal.read(places), strict=True))
    assert [entry.sample_index for entry in journal.read([places[index] for index in order])] == order


def test_a_file_that_vanished_is_an_error_of_one_line(tmp_path):
    journal = Journal(tmp_path)
    place = journal.append(completion(0))
    place.path.unlink()
    with pytest.raises(StoreError, match="was changed while it was in use"):
        journal.read([place])


def test_a_folder_that_cannot_be_written_is_an_error_of_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot write"):
        Journal(tmp_path / "file").append(completion(0))


def test_the_journal_survives_the_death_of_the_process(tmp_path):
    child = os.fork()
    if child == 0:
        Journal(tmp_path).append(completion(0))
        os.kill(os.getpid(), 9)
    os.waitpid(child, 0)
    assert contents(tmp_path) == [completion(0)]


def test_what_could_not_be_read_back_is_not_written(tmp_path):
    journal = Journal(tmp_path)
    with pytest.raises(ValueError, match="out of range: sample 0, 1000000000000 tokens"):
        journal.append(replace(completion(0), n_tokens=10**12))
    with pytest.raises(UnicodeEncodeError):
        journal.append(completion(0, text="\ud800"))
    journal.append(completion(1))
    assert [entry.sample_index for entry in contents(tmp_path)] == [1]
