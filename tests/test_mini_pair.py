"""The miniature pair that ships with the package, and the scripts that make it."""

import json
import subprocess
import sys
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from types import ModuleType

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM, AutoTokenizer, LlamaForCausalLM, PreTrainedTokenizerFast

SCRIPTS = Path(__file__).parents[1] / "examples" / "mini_pair"
ROLES = ("base", "rlvr")
TRAINED = (
    "graph_color",
    "dice",
    "palindrome_generation",
    "family_relationships",
    "prime_factorization",
    "leg_counting",
    "power_function",
)


def folder(role: str) -> Path:
    return Path(str(files("rgsupport") / "mini" / role))


@pytest.fixture(scope="module")
def tokenizer() -> PreTrainedTokenizerFast:
    return AutoTokenizer.from_pretrained(folder("base"), local_files_only=True)


@pytest.fixture(scope="module")
def models() -> dict[str, LlamaForCausalLM]:
    return {role: AutoModelForCausalLM.from_pretrained(folder(role), local_files_only=True) for role in ROLES}


@pytest.fixture(scope="module")
def scripts() -> dict[str, ModuleType]:
    """The scripts import each other by their plain names, as they do when run."""
    names = ("sources", "demonstrations", "tokenizer", "model", "pretrain", "sampler", "evaluate", "rlvr")
    sys.path.insert(0, str(SCRIPTS))
    try:
        return {name: import_module(name) for name in names}
    finally:
        sys.path.remove(str(SCRIPTS))


def prompt_of(tokenizer: PreTrainedTokenizerFast, scripts: dict[str, ModuleType], question: str) -> str:
    messages = scripts["sources"].messages(question)
    return tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)


def test_both_models_together_take_at_most_12_megabytes():
    total = sum(path.stat().st_size for role in ROLES for path in folder(role).iterdir())
    assert total <= 12e6


def test_both_models_have_one_tokenizer_and_different_weights(models):
    texts = [(folder(role) / "tokenizer.json").read_text(encoding="utf-8") for role in ROLES]
    assert texts[0] == texts[1]
    base, rlvr = (models[role].state_dict() for role in ROLES)
    assert base.keys() == rlvr.keys()
    assert any(not torch.equal(base[name], rlvr[name]) for name in base)


def test_the_context_is_long_enough_for_long_prompts(models):
    assert {model.config.max_position_embeddings for model in models.values()} == {2048}


def test_a_prompt_holds_one_beginning_token_and_it_comes_first(tokenizer, scripts):
    text = prompt_of(tokenizer, scripts, "What are the odds?")
    ids = tokenizer.encode(text, add_special_tokens=False)
    assert ids[0] == tokenizer.bos_token_id
    assert ids.count(tokenizer.bos_token_id) == 1
    assert tokenizer.eos_token_id not in ids


def test_the_answer_tags_are_tokens_but_not_special(tokenizer):
    ids = tokenizer.encode("<answer>5</answer>", add_special_tokens=False)
    assert len(ids) == 3
    assert tokenizer.decode(ids, skip_special_tokens=True) == "<answer>5</answer>"


def test_questions_of_all_15_paper_tasks_survive_the_tokenizer(tokenizer, scripts):
    tasks = scripts["sources"].PAPER_TASKS
    assert len(tasks) == 15
    for task in tasks:
        for item in scripts["sources"].evaluation_items(task, 5):
            text = prompt_of(tokenizer, scripts, item["question"])
            ids = tokenizer.encode(text, add_special_tokens=False)
            assert tokenizer.decode(ids) == text
            assert len(ids) < 1024


@given(st.text())
@settings(deadline=None)
def test_any_text_survives_the_tokenizer(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode(text, add_special_tokens=False)) == text


@pytest.mark.parametrize("role", ROLES)
def test_greedy_answers_to_trained_tasks_end_and_carry_a_tagged_answer(role, models, tokenizer, scripts):
    tagged = 0
    for task in TRAINED:
        for item in scripts["sources"].evaluation_items(task, 2):
            text = prompt_of(tokenizer, scripts, item["question"])
            ids = torch.tensor([tokenizer.encode(text, add_special_tokens=False)])
            out = models[role].generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=400)
            assert out[0, -1] == tokenizer.eos_token_id, f"{task} does not end"
            tagged += "<answer>" in tokenizer.decode(out[0, ids.shape[1] :], skip_special_tokens=True)
    assert tagged >= 0.8 * 2 * len(TRAINED)


def test_no_training_question_is_an_evaluation_question(scripts):
    sources = scripts["sources"]
    held_out = sources.held_out_questions()
    assert len(held_out) > 2000
    # prime_factorization has 999 questions in all, so the text filter is what keeps these apart.
    source = next(source for source in sources.SOURCES if source.dataset == "prime_factorization")
    stream = sources.stream(source, first_seed=sources.RL_SEED)
    assert not held_out & {next(stream)["question"] for _ in range(2000)}


def test_seed_ranges_of_evaluation_supervised_and_reinforcement_learning_are_disjoint(scripts):
    sources = scripts["sources"]
    reach = len(sources.SOURCES) * sources.ITEMS_PER_SOURCE
    assert sources.EVALUATION_SEED + 100_000 < sources.SUPERVISED_SEED
    assert sources.SUPERVISED_SEED + reach <= sources.RL_SEED


def test_careful_demonstrations_are_right_where_a_small_model_can_follow(scripts):
    sources, demonstrations = scripts["sources"], scripts["demonstrations"]
    rng = demonstrations.Random(0)
    for task in TRAINED:
        score = scripts["evaluate"].scorer(*sources.PAPER_TASKS[task])
        for item in sources.evaluation_items(task, 20):
            _, answer = demonstrations.WRITERS[task](item, rng, hasty=False)
            assert score(answer, item) == 1.0, (task, answer)


def test_the_sampler_at_low_temperature_agrees_with_greedy_generation(models, tokenizer, scripts):
    model = scripts["model"].load(folder("base"))
    texts = [prompt_of(tokenizer, scripts, i["question"]) for i in scripts["sources"].evaluation_items("dice", 4)]
    prompts = [tokenizer.encode(text, add_special_tokens=False) for text in texts]
    drawn = scripts["sampler"].sample(
        model,
        prompts,
        samples=2,
        settings=scripts["sampler"].Settings(temperature=1e-4, max_tokens=40),
        eos_id=tokenizer.eos_token_id,
        generator=torch.Generator().manual_seed(0),
    )
    for prompt, completions in zip(prompts, drawn, strict=True):
        ids = torch.tensor([prompt])
        greedy = models["base"].generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=40)
        assert completions == [greedy[0, len(prompt) :].tolist()] * 2


def test_the_scripts_make_a_pair_from_end_to_end(tmp_path):
    command = [
        sys.executable,
        "make.py",
        "--out",
        str(tmp_path),
        "--minutes-supervised",
        "0.05",
        "--minutes-rl",
        "0.05",
    ]
    subprocess.run([*command, "--threads", "1"], cwd=SCRIPTS, check=True, capture_output=True)
    for role in ROLES:
        config = json.loads((tmp_path / role / "config.json").read_text(encoding="utf-8"))
        assert config["architectures"] == ["LlamaForCausalLM"]
        assert AutoModelForCausalLM.from_pretrained(tmp_path / role, local_files_only=True).num_parameters() < 1e6
