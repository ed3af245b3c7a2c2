"""From a question to the token ids a model reads: chat messages, the model's own template, one BOS and never two."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from jinja2.exceptions import TemplateError

from rgsupport.errors import EngineError, one_line

Messages = Sequence[Mapping[str, str]]


class Tokenizer(Protocol):
    """The members of a transformers tokenizer that prompts need."""

    chat_template: str | None
    bos_token_id: int | None
    name_or_path: str

    def apply_chat_template(self, conversation: Messages, *, tokenize: bool, add_generation_prompt: bool) -> str:
        """Return the rendered conversation."""
        ...

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        """Return token ids."""
        ...


def render(question: str, *, system: str, tokenizer: Tokenizer) -> str:
    """Return the text a model reads for a question.

    A model with a chat template gets its template, with the system prompt as a system message, or in front of the
    question where the template refuses that role. A model without one gets plain text: system prompt, question.

    Args:
        question: The question as the task words it.
        system: System prompt; empty for none.
        tokenizer: The model's tokenizer.

    Raises:
        EngineError: The template fails, or drops the question.
    """
    merged = f"{system}\n{question}" if system else question
    if tokenizer.chat_template is None:
        return f"{merged}\n"
    user = {"role": "user", "content": merged}
    try:
        if system:
            apart = [{"role": "system", "content": system}, {"role": "user", "content": question}]
            text = _apply(tokenizer, apart, otherwise=[user])
        else:
            text = _apply(tokenizer, [user], otherwise=[user])
    except Exception as error:  # a template is a program, and may raise anything
        msg = f"the chat template of {tokenizer.name_or_path} fails: {one_line(error)}; mend it in the model's folder"
        raise EngineError(msg) from error
    if question.strip() not in text:
        msg = f"the chat template of {tokenizer.name_or_path} drops the question; mend it in the model's folder"
        raise EngineError(msg)
    return text


def _apply(tokenizer: Tokenizer, messages: Messages, *, otherwise: Messages) -> str:
    try:
        return tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    except TemplateError:  # some templates (Gemma's, for one) raise on a system message
        return tokenizer.apply_chat_template(otherwise, tokenize=False, add_generation_prompt=True)


def encode(text: str, *, tokenizer: Tokenizer) -> tuple[int, ...]:
    """Return the token ids of a rendered prompt, with exactly one BOS where the model has one in its prompts.

    A chat template writes the BOS itself, so the tokenizer must not add another; plain text gets what the tokenizer
    adds by itself.

    Raises:
        EngineError: The prompt begins with two BOS tokens, or is empty.
    """
    ids = tokenizer.encode(text, add_special_tokens=tokenizer.chat_template is None)
    if not ids:
        msg = f"the tokenizer of {tokenizer.name_or_path} turns a prompt into no tokens at all"
        raise EngineError(msg)
    if tokenizer.bos_token_id is not None and ids[:2] == [tokenizer.bos_token_id] * 2:
        msg = f"the prompts of {tokenizer.name_or_path} begin with two BOS tokens: its chat template is at fault"
        raise EngineError(msg)
    return tuple(ids)


def opens_thought(text: str) -> bool:
    """Tell whether a rendered prompt ends inside a `<think>` block, so that the completion begins as a thought.

    >>> opens_thought("<|user|>2+2?<|assistant|><think>"), opens_thought("<think></think>")
    (True, False)
    """
    return text.rstrip().endswith("<think>")
