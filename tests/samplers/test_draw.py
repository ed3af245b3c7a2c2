import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare, kstest

from rgsupport.samplers._draw import draw, mix, uniforms

N_DRAWS = 40_000


def streams(n_streams, count):
    return uniforms(np.arange(n_streams, dtype=np.uint64), np.full(n_streams, count, dtype=np.uint64))


def truncated(logits, *, temperature, top_p):
    """Return the exact distribution by sorting, in float64."""
    weights = np.exp((logits - logits.max()) / temperature)
    probabilities = weights / weights.sum()
    order = np.argsort(-probabilities, kind="stable")
    n_kept = int(np.searchsorted(np.cumsum(probabilities[order]), top_p - 1e-12)) + 1
    kept = np.zeros_like(probabilities)
    kept[order[:n_kept]] = probabilities[order[:n_kept]]
    return kept / kept.sum()


def draw_many(logits, *, temperature, top_p):
    rows = torch.tensor(logits, dtype=torch.float32).expand(N_DRAWS, -1)
    return draw(rows, torch.from_numpy(streams(N_DRAWS, 3)), temperature=temperature, top_p=top_p).numpy()


# 500 tokens with a spread of 0.5 need the whole sort, a spread of 3 the first look only; 20 tokens fit into it.
@pytest.mark.parametrize(("n_tokens", "spread"), [(20, 2.0), (500, 3.0), (500, 0.5)])
@pytest.mark.parametrize(("temperature", "top_p"), [(1.0, 1.0), (0.6, 0.95), (1.3, 0.5), (0.6, 1.0)])
def test_drawn_tokens_have_the_exact_truncated_distribution(n_tokens, spread, temperature, top_p):
    logits = np.random.default_rng(5).normal(size=n_tokens).astype(np.float32) * spread
    exact = truncated(logits.astype(np.float64), temperature=temperature, top_p=top_p)
    counts = np.bincount(draw_many(logits, temperature=temperature, top_p=top_p), minlength=n_tokens)
    assert counts[exact == 0].sum() == 0
    common = exact * N_DRAWS >= 5
    observed = [*counts[common], counts[~common].sum()]
    expected = [*(exact[common] * N_DRAWS), exact[~common].sum() * N_DRAWS]
    if expected[-1] < 1e-9:
        observed, expected = observed[:-1], expected[:-1]
    if len(expected) > 1:
        assert chisquare(observed, expected).pvalue > 1e-4


@settings(deadline=None, max_examples=200)
@given(
    logits=st.lists(st.floats(-8, 8, width=32), min_size=1, max_size=150),
    top_p=st.floats(0.01, 1.0),
    temperature=st.floats(0.05, 3.0),
)
def test_tokens_come_from_the_smallest_set_of_most_probable_ones_that_reaches_top_p(logits, top_p, temperature):
    values = np.array(logits)
    uniform = torch.linspace(0, 1 - 2**-53, 101, dtype=torch.float64)
    rows = torch.tensor(logits).expand(101, -1)
    drawn = draw(rows, uniform, temperature=temperature, top_p=top_p).numpy()
    weights = np.exp((values - values.max()) / temperature)
    probabilities = weights / weights.sum()
    # Every drawn token is needed: the strictly more probable ones alone do not reach top_p (but for rounding).
    above = np.array([probabilities[probabilities > probabilities[token] + 1e-6].sum() for token in np.unique(drawn)])
    assert (above <= top_p + 1e-5).all()
    # The last number of a stream draws the least probable token kept, and those above it and its equals reach top_p.
    last = drawn[-1]
    assert top_p == 1.0 or probabilities[probabilities >= probabilities[last] - 1e-6].sum() >= top_p - 2e-4


def test_the_uniform_number_decides_which_token_of_the_cumulative_distribution_is_drawn():
    rows = torch.log(torch.tensor([[0.5, 0.2, 0.3]])).expand(4, -1)
    uniform = torch.tensor([0.0, 0.55, 0.75, 0.999], dtype=torch.float64)
    assert draw(rows, uniform, temperature=1.0, top_p=1.0).tolist() == [0, 1, 2, 2]
    # Kept are 0.5 and 0.3, of which 0.5 / 0.8 = 0.625.
    uniform = torch.tensor([0.0, 0.62, 0.63, 0.999], dtype=torch.float64)
    assert draw(rows, uniform, temperature=1.0, top_p=0.75).tolist() == [0, 0, 2, 2]


def test_tokens_of_no_probability_are_never_drawn_whatever_the_number():
    logits = torch.tensor([[-torch.inf, 0.0, -torch.inf, 0.0, -torch.inf]]).expand(3, -1)
    uniform = torch.tensor([0.0, 0.5, 1 - 2**-53], dtype=torch.float64)
    for top_p in (0.9, 1.0):
        assert draw(logits, uniform, temperature=1.0, top_p=top_p).tolist() == [1, 3, 3]


def test_a_row_is_drawn_alike_whatever_rows_are_drawn_with_it():
    generator = torch.Generator().manual_seed(0)
    spread = torch.tensor([[0.1], [4.0], [1.0], [0.3]])  # some rows need the whole sort, some do not
    logits = torch.randn((4, 400), generator=generator) * spread
    uniform = torch.rand(4, generator=generator, dtype=torch.float64)
    together = draw(logits, uniform, temperature=0.6, top_p=0.95).tolist()
    alone = [draw(logits[[i]], uniform[[i]], temperature=0.6, top_p=0.95).item() for i in range(4)]
    assert together == alone


def test_temperature_zero_takes_the_most_probable_token():
    logits = torch.tensor([[1.0, 3.0, 2.0], [5.0, 0.0, 5.0]])
    assert draw(logits, torch.tensor([0.9, 0.9]).double(), temperature=0.0, top_p=0.95).tolist() == [1, 0]


@pytest.mark.parametrize("top_p", [0.9, 1.0])
def test_a_tiny_temperature_does_not_overflow(top_p):
    logits = torch.tensor([[-40.0, 80.0, 79.0]])
    assert draw(logits, torch.tensor([0.99]).double(), temperature=1e-30, top_p=top_p).tolist() == [1]


@pytest.mark.parametrize("temperature", [0.0, 0.6])
@pytest.mark.parametrize("top_p", [0.9, 1.0])
def test_logits_without_a_distribution_give_minus_one_and_leave_the_other_rows_alone(temperature, top_p):
    logits = torch.tensor([[0.0, torch.nan, 1.0], [-50.0, 0.0, -50.0], [0.0, torch.inf, 0.0]])
    uniform = torch.full((3,), 0.5, dtype=torch.float64)
    assert draw(logits, uniform, temperature=temperature, top_p=top_p).tolist() == [-1, 1, -1]


def test_neighbouring_seeds_and_positions_have_unrelated_uniform_numbers():
    numbers = np.stack([streams(400, count) for count in range(100)])  # [count, seed]
    assert kstest(numbers.ravel(), "uniform").pvalue > 1e-3
    between_seeds = np.corrcoef(numbers[:, :-1].ravel(), numbers[:, 1:].ravel())[0, 1]
    between_counts = np.corrcoef(numbers[:-1].ravel(), numbers[1:].ravel())[0, 1]
    assert max(abs(between_seeds), abs(between_counts)) < 0.02  # 4 standard errors
    assert len(np.unique(numbers)) == numbers.size


def test_words_are_scrambled_as_splitmix64_does():
    # The first outputs of SplitMix64 for seed 0, as published with its reference code.
    states = np.arange(3, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    assert [hex(word) for word in mix(states).tolist()] == [
        "0xe220a8397b1dcdaf",
        "0x6e789e6aa1b965f4",
        "0x6c45d188009454f",
    ]


def test_a_stream_is_the_same_on_every_machine():
    seeds = np.array([0, 45, 2**63 - 1], dtype=np.uint64)
    numbers = uniforms(seeds, np.array([0, 1, 7], dtype=np.uint64))
    assert numbers.tolist() == [0.6561149711801131, 0.6034438332638431, 0.8260674948190129]
