from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgsupport.errors import StoreError
from rgsupport.schemas import COMPLETIONS
from rgsupport.shards import BLOCK, Shard, ShardFolder, completions_frame, missing
from rgsupport.types import Completion, FinishReason, LogprobSummary

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


@given(text=st.text(max_size=40))
def test_any_text_survives_the_shard(tmp_path_factory, text):
    shard = Shard(PROBLEM, 0, 1)
    stored = ShardFolder(tmp_path_factory.mktemp("shards"), COMPLETIONS)
    stored.write(shard, completions_frame([completion(0, text=text)]), constant)
    assert stored.read(shard, constant)["text"].to_list() == [text]


def test_a_log_probability_summary_fills_its_columns_and_its_absence_is_null():
    summary = LogprobSummary(cumulative=-3.5, mean=-0.5, entropy_low=0.25, entropy_high=1.25)
    unknown = replace(summary, entropy_low=None, entropy_high=None)
    kept = [replace(completion(place), logprobs=logprobs) for place, logprobs in enumerate((summary, unknown, None))]
    found = completions_frame(kept).select("cumulative_logprob", "mean_logprob", "entropy_low", "entropy_high")
    assert found.rows() == [(-3.5, -0.5, 0.25, 1.25), (-3.5, -0.5, None, None), (None,) * 4]
