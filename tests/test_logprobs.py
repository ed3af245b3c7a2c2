"""`--logprobs` as a user gives it: what it stores, what it leaves alone, and what it refuses."""

import json
import math

import polars as pl
import pytest

from command import done, refusal

ASKED = ("run", "--tasks", "dice", "--problems", "1", "--k", "1", "--max-tokens", "40", "--engine", "hf")
COLUMNS = ["cumulative_logprob", "mean_logprob", "entropy_low", "entropy_high"]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def run(home):
    done(*ASKED, "--logprobs", "5", "--out", "with", cwd=home)
    return home / "with"


def completions(run):
    return pl.concat([pl.read_parquet(path) for path in sorted(run.glob("completions/*/*.parquet"))])


def test_the_columns_are_filled_with_what_a_whole_distribution_allows(run):
    found = completions(run)
    assert found.height == 2
    assert found.select(COLUMNS).null_count().row(0) == (0, 0, 0, 0)
    vocabulary = json.loads((run / "run.json").read_text())["models"]["base"]["facts"]["vocabulary"]
    for cumulative, mean, low, high, n_tokens in found.select(*COLUMNS, "n_tokens").iter_rows():
        assert cumulative < 0
        assert mean * n_tokens == pytest.approx(cumulative)
        assert 0 < low == high < math.log(vocabulary)


def test_the_same_run_without_the_flag_is_refused_with_the_difference(home, run):
    line = refusal(*ASKED, "--out", run, cwd=home, code=2)
    assert "logprobs is 5 in the run, 0 was asked" in line


def test_without_the_flag_the_columns_are_empty_and_the_texts_are_the_same_bytes(home, run):
    done(*ASKED, "--out", "without", cwd=home)
    plain = completions(home / "without")
    assert plain.select(COLUMNS).null_count().row(0) == (2, 2, 2, 2)
    assert plain.drop(COLUMNS).equals(completions(run).drop(COLUMNS))
