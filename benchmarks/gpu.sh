#!/usr/bin/env bash
# What rgsupport does on a GPU, in a few minutes, with nothing downloaded: doctor, the sampler beside the bare engine,
# its memory, and a small run of two models.
#
#     benchmarks/gpu.sh MODEL_FOLDER [TRAINED_MODEL_FOLDER]
#
# in an environment with rgsupport, vLLM and psutil. The models are folders as transformers saves them; with one, it is
# compared with itself. Output goes to the terminal and to gpu-<date>.log.
set -euo pipefail
base=${1:?usage: benchmarks/gpu.sh MODEL_FOLDER [TRAINED_MODEL_FOLDER]}
rlvr=${2:-$base}
here=$(cd "$(dirname "$0")" && pwd)
export HF_HUB_OFFLINE=1
exec > >(tee "gpu-$(date +%Y%m%d-%H%M%S).log") 2>&1
run=$(mktemp -d)
trap 'rm -rf "$run"' EXIT
nvidia-smi
# A folder that is no model is worth knowing before the benchmarks; anything else it finds need not stop them.
rgsupport doctor --engine vllm --base "$base" --rlvr "$rlvr" --out "$run/run" || true
python "$here/sampler.py" --model "$base" --problems 100 --samples 64 --max-tokens 512 --rounds 2
python "$here/sampler.py" --model "$base" --memory 200000 --max-tokens 4
time rgsupport run --engine vllm --base "$base" --rlvr "$rlvr" --tasks graph_color,dice --problems 20 --k 1,2,4,8 \
    --max-tokens 2048 --out "$run/run"
