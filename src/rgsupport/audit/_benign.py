"""Ways of writing a right answer that change nothing about it."""

from collections.abc import Iterator

_FORMS = {
    "white space": "  {}\n",
    "full stop": "{}.",
    "quotes": '"{}"',
    "bold": "**{}**",
    "dollars": "${}$",
    "boxed": r"\boxed{{{}}}",
    "code fence": "```\n{}\n```",
    "label": "Answer: {}",
}


def benign(reference: str) -> Iterator[tuple[str, str]]:
    """Yield the name of each form and the reference in it.

    >>> dict(benign("60"))["label"]
    'Answer: 60'
    """
    yield from ((name, form.format(reference)) for name, form in _FORMS.items())
    if reference.upper() != reference:
        yield "upper case", reference.upper()
    if reference.lower() != reference:
        yield "lower case", reference.lower()
