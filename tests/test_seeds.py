from hypothesis import given
from hypothesis import strategies as st

from rgsupport.seeds import problem_id, sample_seed


def test_no_two_samples_of_a_run_share_a_seed():
    keys = [(stream, problem, index) for stream in ("base", "rlvr") for problem in "abcdefgh" for index in range(2000)]
    seeds = {sample_seed(run_seed=45, stream=s, problem_id=p, sample_index=i) for s, p, i in keys}
    assert len(seeds) == len(keys)


@given(run_seed=st.integers(0), index=st.integers(0))
def test_a_seed_has_63_bits(run_seed, index):
    assert 0 <= sample_seed(run_seed=run_seed, stream="base", problem_id="p", sample_index=index) < 2**63


def test_a_seed_never_changes_between_versions():
    assert sample_seed(run_seed=45, stream="base", problem_id="0123456789abcdef", sample_index=0) == 2720083863323433177


def test_the_same_question_of_two_tasks_is_two_problems():
    assert problem_id(task="easy", question="Factor 1000.") != problem_id(task="hard", question="Factor 1000.")
