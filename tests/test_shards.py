import os
import random

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgsupport import shards
from rgsupport.errors import StoreError
from rgsupport.schemas import COMPLETIONS
from rgsupport.shards import BLOCK, Journal, Shard, ShardFolder, completions_frame, missing
from rgsupport.types import Completion, FinishReason

PROBLEM = "0123456789abcdef"
OTHER = "fedcba9876543210"


def constant(_problem_id):
    return "model and parameters"


def completion(index, *, problem=PROBLEM, text="<answer>1</answer>"):
    return Completion(problem, index, 1000 + index, text, FinishReason.STOP, 7)


def frame(shard):
    return completions_frame([completion(index, problem=shard.problem_id) for index in shard.indices()])


ranges = st.tuples(st.integers(0, 900), st.integers(1, 300)).map(lambda pair: (pair[0], pair[0] + pair[1]))


@given(have=st.lists(ranges, max_size=6), samples=st.integers(1, 1200))
def test_what_is_missing_is_the_plan_minus_the_listing_sample_by_sample(have, samples):
    owed = missing([PROBLEM], samples=samples, have=[Shard(PROBLEM, low, high) for low, high in have])
    indices = [index for shard in owed for index in shard.indices()]
    held = {index for low, high in have for index in range(low, high)}
    assert sorted(indices) == [index for index in range(samples) if index not in held]
    assert all(shard.low // BLOCK == (shard.high - 1) // BLOCK for shard in owed)


def test_blocks_of_all_problems_come_in_turn():
    owed = missing([PROBLEM, OTHER], samples=2 * BLOCK, have=[])
    assert [(shard.problem_id, shard.low) for shard in owed] == [
        (PROBLEM, 0),
        (OTHER, 0),
        (PROBLEM, BLOCK),
        (OTHER, BLOCK),
    ]


def test_a_shard_is_read_as_it_was_written(tmp_path):
    folder = ShardFolder(tmp_path, COMPLETIONS)
    shard = Shard(PROBLEM, 3, 9)
    folder.write(shard, frame(shard), constant)
    assert folder.listing(constant) == [shard]
    assert folder.read(shard, constant).equals(frame(shard))
    assert not list(tmp_path.glob(".partial*"))


def test_the_first_writer_of_a_shard_wins(tmp_path):
    folder = ShardFolder(tmp_path, COMPLETIONS)
    shard = Shard(PROBLEM, 0, 1)
    folder.write(shard, completions_frame([completion(0, text="first")]), constant)
    folder.write(shard, completions_frame([completion(0, text="second")]), constant)
    assert folder.read(shard, constant)["text"].to_list() == ["first"]


def test_a_shard_of_other_inputs_is_refused_or_passed_over(tmp_path):
    folder = ShardFolder(tmp_path, COMPLETIONS)
    shard = Shard(PROBLEM, 0, 1)
    folder.write(shard, frame(shard), lambda _: "another model")
    assert folder.listing(constant, pass_over_stale=True) == []
    with pytest.raises(StoreError, match="does not belong to this run"):
        folder.listing(constant)


def test_a_foreign_file_is_refused_with_its_name(tmp_path):
    (tmp_path / "mine.parquet").write_bytes(b"")
    with pytest.raises(StoreError, match=r"mine\.parquet"):
        ShardFolder(tmp_path, COMPLETIONS).listing(constant, pass_over_stale=True)


def only_file(folder):
    (path,) = folder.glob("*.parquet")
    return path


def cut_short(path):
    path.write_bytes(path.read_bytes()[:-30])


def edit_a_text(path):
    edited = pl.read_parquet(path).with_columns(text=pl.lit("<answer>42</answer>"))
    edited.write_parquet(path)


def drop_a_sample(path):
    pl.read_parquet(path).head(2).write_parquet(path)


def add_a_column(path):
    pl.read_parquet(path).with_columns(score=1.0).write_parquet(path)


@pytest.mark.parametrize("damage", [cut_short, edit_a_text, drop_a_sample, add_a_column])
def test_a_damaged_or_edited_shard_is_an_error_of_one_line_that_names_the_file(tmp_path, damage):
    folder = ShardFolder(tmp_path, COMPLETIONS)
    shard = Shard(PROBLEM, 0, 5)
    folder.write(shard, frame(shard), constant)
    damage(only_file(tmp_path))
    with pytest.raises(StoreError) as error:
        folder.read(shard, constant)
    assert str(only_file(tmp_path)) in str(error.value)
    assert "\n" not in str(error.value)


@given(place=st.floats(0, 1, exclude_max=True), bits=st.integers(1, 255))
def test_a_flipped_bit_is_found_unless_it_changes_nothing(tmp_path_factory, place, bits):
    folder = ShardFolder(tmp_path_factory.mktemp("shard"), COMPLETIONS)
    shard = Shard(PROBLEM, 0, 5)
    folder.write(shard, frame(shard), constant)
    path = only_file(folder.path)
    data = bytearray(path.read_bytes())
    data[int(place * len(data))] ^= bits
    path.write_bytes(bytes(data))
    try:
        found = folder.read(shard, constant)
    except StoreError:
        return
    assert found.equals(frame(shard))


texts = st.text(max_size=40)


@given(text=texts)
def test_any_text_survives_the_journal_and_the_shard(tmp_path_factory, text):
    folder = tmp_path_factory.mktemp("journal")
    journal = Journal(folder)
    journal.append(completion(0, text=text))
    journal.close()
    assert list(Journal(folder).read()) == [completion(0, text=text)]
    shard = Shard(PROBLEM, 0, 1)
    stored = ShardFolder(folder, COMPLETIONS)
    stored.write(shard, completions_frame([completion(0, text=text)]), constant)
    assert stored.read(shard, constant)["text"].to_list() == [text]


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
    assert list(Journal(folder).read()) == written[: data.count(b"\n")]


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
        list(Journal(tmp_path).read())


def test_the_journal_drops_only_files_whose_completions_are_all_in_shards(tmp_path):
    first, second = Journal(tmp_path), Journal(tmp_path)
    first.append(completion(0))
    second.append(completion(1))
    for journal in (first, second):
        journal.close()
    Journal(tmp_path).drop([Shard(PROBLEM, 0, 1)])
    assert [entry.sample_index for entry in Journal(tmp_path).read()] == [1]


def test_the_file_that_is_being_written_is_never_dropped(tmp_path):
    journal = Journal(tmp_path)
    journal.append(completion(0))
    journal.drop([Shard(PROBLEM, 0, 10)])
    journal.append(completion(1))
    assert len(list(Journal(tmp_path).read())) == 2


def test_a_long_journal_begins_a_new_file(tmp_path, monkeypatch):
    monkeypatch.setattr(shards, "_JOURNAL_BYTES", 500)
    journal = Journal(tmp_path)
    begun = [journal.append(completion(index)) for index in range(20)]
    assert begun[0]
    assert 1 < sum(begun) < 20
    assert len(list(Journal(tmp_path).read())) == 20


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
    assert list(Journal(tmp_path).read()) == [completion(0)]
