"""Train the miniature pair: `python examples/mini_pair/make.py --out DIR --minutes-supervised 22 --minutes-rl 13`."""

import argparse
from pathlib import Path

import pretrain
import rlvr
import torch
from model import load, save
from sources import held_out_questions
from tokenizer import build


def main() -> None:
    """Write DIR/base and DIR/rlvr."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="where base/ and rlvr/ are written")
    parser.add_argument("--minutes-supervised", type=float, default=22.0, help="0 keeps the base that is there")
    parser.add_argument("--minutes-rl", type=float, default=13.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch.set_num_threads(1)  # the training runs whole passes side by side
    print(f"{len(held_out_questions())} evaluation questions are held out", flush=True)
    tokenizer = build()
    if options.minutes_supervised > 0:
        base = pretrain.train(
            tokenizer, seconds=60 * options.minutes_supervised, seed=options.seed, threads=options.threads
        )
        save(base, tokenizer, options.out / "base")
    base = load(options.out / "base")
    trained = rlvr.train(base, tokenizer, seconds=60 * options.minutes_rl, seed=options.seed, threads=options.threads)
    save(trained, tokenizer, options.out / "rlvr")


if __name__ == "__main__":
    main()
