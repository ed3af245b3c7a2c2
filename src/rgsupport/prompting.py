"""The prompts of a run: made by each model's own tokenizer and checked before either model takes GPU time."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import polars as pl

from rgsupport import prompts
from rgsupport.engines import COMPARED, Engine
from rgsupport.errors import UsageError
from rgsupport.models import Model
from rgsupport.types import BASE, RLVR, ModelRole, SamplingParams


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is asked, in the three forms an engine may take; those that it cannot take are empty."""

    token_ids: tuple[int, ...] = ()
    text: str = ""
    messages: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompts of one model.

    Attributes:
        of: The prompt of each problem.
        opens_thought: Whether they end inside a `<think>` block.
        context_length: How many tokens the model can hold, prompt and response together; None where only a server
            knows.
        vocabulary: Number of tokens for which the model returns logits; None likewise.
        stop_ids: Tokens that end a text.
        facts: What of this must be equal for two models (`engines.COMPARED`).
    """

    of: Mapping[str, Prompt]
    opens_thought: bool = False
    context_length: int | None = None
    vocabulary: int | None = None
    stop_ids: tuple[int, ...] = ()
    facts: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def longest(self) -> int:
        """Tokens of the longest prompt that fits the context, 0 if none does."""
        return max((len(self.of[identity].token_ids) for identity in self.of.keys() - self.too_long()), default=0)

    def too_long(self) -> set[str]:
        """Return the problems whose prompts leave no room for a response."""
        limit = self.context_length
        return {
            identity for identity, prompt in self.of.items() if limit is not None and len(prompt.token_ids) >= limit
        }


def build_prompts(model: Model, problems: pl.DataFrame, *, system: str, engine: Engine) -> Prompts:
    """Return a model's prompts. Loads the tokenizer, not the weights; nothing where a server applies its own template.

    Raises:
        UsageError: No question of a task leaves room for a response.
        EngineError: The model has no usable tokenizer.
    """
    questions = dict(problems.select("problem_id", "question").iter_rows())
    if engine.api == "chat":
        apart = (("system", system),) if system else ()
        return Prompts({identity: Prompt(messages=(*apart, ("user", text))) for identity, text in questions.items()})
    from rgsupport.samplers.facts import on_gpu, read_facts  # heavy: imports torch and transformers

    known = read_facts(model.location, revision=model.revision)
    texts = {
        identity: prompts.render(question, system=system, tokenizer=known.tokenizer)
        for identity, question in questions.items()
    }
    of = {identity: Prompt(prompts.encode(text, tokenizer=known.tokenizer), text) for identity, text in texts.items()}
    on_cpu = engine.device == "cpu" or not on_gpu()
    # A server runs a model as it was started, so its dtype is not ours to say.
    dtype = {} if engine.name == "openai" else {"dtype": engine.dtype or ("float32" if on_cpu else known.dtype)}
    made = Prompts(
        of,
        opens_thought=any(map(prompts.opens_thought, texts.values())),
        context_length=known.context_length,
        vocabulary=known.vocabulary,
        stop_ids=known.stop_ids,
        facts={
            "template": _template(known.tokenizer),
            "bos": _bos(known.tokenizer, of.values()),
            "stop_ids": list(known.stop_ids),
            **dtype,
        },
    )
    _refuse_tasks_that_do_not_fit(model, made, problems)
    return made


def _refuse_tasks_that_do_not_fit(model: Model, made: Prompts, problems: pl.DataFrame) -> None:
    too_long = made.too_long()
    for task, rows in problems.group_by("task", maintain_order=True):
        if set(rows["problem_id"]) <= too_long:
            shortest = min(len(made.of[identity].token_ids) for identity in rows["problem_id"])
            msg = (
                f"the context of {model.name} is {made.context_length} tokens, but every question of {task[0]} takes "
                f"{shortest} or more; leave {task[0]} out, or name a model with a longer context"
            )
            raise UsageError(msg)


def _template(tokenizer: prompts.Tokenizer) -> str:
    """Return 12 hex digits that tell chat templates apart."""
    if tokenizer.chat_template is None:
        return "none"
    return hashlib.sha256(str(tokenizer.chat_template).encode()).hexdigest()[:12]


def _bos(tokenizer: prompts.Tokenizer, made: Iterable[Prompt]) -> str:
    """Tell whether the prompts begin with the model's BOS token."""
    begins = {prompt.token_ids[0] == tokenizer.bos_token_id for prompt in made}
    return "one" if begins == {True} else "none"


def refuse_unequal_room(base: tuple[Model, Prompts], rlvr: tuple[Model, Prompts], params: SamplingParams) -> None:
    """Refuse a pair of which one model's context cuts its responses earlier than the other's.

    Raises:
        UsageError: Names both contexts and the largest `--max-tokens` that gives both models the same room.
    """
    contexts = [made.context_length for _, made in (base, rlvr)]
    known = [context for context in contexts if context is not None]
    if len(known) < len(contexts) or known[0] == known[1]:
        return
    longest = max(len(prompt.token_ids) for _, made in (base, rlvr) for prompt in made.of.values())
    room = min(known) - longest
    if params.max_tokens > room:
        (one, _), (other, _) = base, rlvr
        way_out = (
            f"--max-tokens {room} gives both the same room"
            if room > 0
            else f"the longest prompt takes {longest}: leave its task out, or name models with longer contexts"
        )
        msg = (
            f"{one.name} holds {known[0]} tokens and {other.name} {known[1]}: --max-tokens {params.max_tokens} "
            f"would cut them at different lengths; {way_out}"
        )
        raise UsageError(msg)


def refuse_unequal(facts: Mapping[ModelRole, Mapping[str, object]], allowed: Iterable[str]) -> None:
    """Refuse two models that would be, or were, sampled otherwise.

    Args:
        facts: Of both models; what is not among `engines.COMPARED` is not looked at.
        allowed: Facts in which they may differ.

    Raises:
        UsageError: Names every difference, with both values and the way out.
    """
    base, rlvr = (facts[role] for role in (BASE, RLVR))
    unequal = [name for name in COMPARED if base.get(name) != rlvr.get(name) and name not in set(allowed)]
    if unequal:
        told = "; ".join(f"{name} is {base.get(name)} for base and {rlvr.get(name)} for RLVR" for name in unequal)
        dtype = "; --dtype bfloat16 runs both alike" if "dtype" in unequal else ""
        msg = (
            f"the two models would not be treated alike: {told}{dtype}; make them equal, in a new folder with --out if "
            f"one was sampled already, or accept the difference with --allow-unequal {','.join(unequal)}"
        )
        raise UsageError(msg)
