"""A task whose answer is its question, and whose verifier is moody: it raises on `?` and gives half of what is near."""


class Echo:
    name = "echo"

    def problems(self, *, count, seed):
        return ()

    def normalise(self, answer):
        if answer == "unreadable":
            raise ValueError
        # "spoilt" is a normaliser's mistake: it takes a right answer for something else.
        return {"spoilt": "?"}.get(answer, answer.rstrip("."))

    def score(self, problem, answer):
        if answer == "?":
            raise ValueError
        if answer == "slow":
            while True:
                pass
        return 1.0 if answer == problem.reference else 0.5 * (answer in problem.reference)


class Checked(Echo):
    """The same with a checker, which takes twelve in words and nothing else, and raises on `spoilt`."""

    name = "checked"
    has_checker = True

    def check(self, problem, answer):
        if answer == "spoilt":
            raise ValueError
        return problem.reference == "12" and answer == "twelve"

    def doubt(self, problem):
        return ""


TASKS = (Echo(), Checked())
