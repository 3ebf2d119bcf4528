"""The cases of ONNX Runtime's rotary tests, where the shared files are beside the project.

Each turns numbers by a table of its own: the default rule with base 10000 or, in one case, angles
made up for it."""

import json
import re
import sys

import numpy as np

from comparison import Sextant
from run import ROOT, parse_arguments

GOLDEN = ROOT.parent / "shared" / "goldens" / "ort-rotary-embedding.jsonc"
TOLERANCE = 2e-3  # inputs, tables and outputs are written with four decimals


def by_head(tensor, pairs, heads):
    """[batch, n, heads * head_dim] or [batch, heads, n, head_dim] as the latter."""
    values = np.reshape(tensor["data"], tensor["dims"])
    if values.ndim == 4:
        return values
    batch, count, width = values.shape
    heads = heads or width // (2 * pairs)
    return values.reshape(batch, count, heads, width // heads).transpose(0, 2, 1, 3)


def spec_of(pairs, cos, sin, pairing):
    turned = np.arctan2(np.reshape(sin["data"], sin["dims"])[1], np.reshape(cos["data"], cos["dims"])[1])
    default = 1e4 ** (-np.arange(pairs) / pairs)
    spec = f"rope:rotated_dims={2 * pairs},pairing={pairing}"
    if np.abs(turned - default).max() < 1e-3:
        return spec
    return spec + ",frequencies=given,inv_freq=[" + ",".join(f"{value:.4f}" for value in turned) + "]"


def largest_difference(sextant, case, attributes):
    data, start, cos, sin = case["inputs"]
    pairs = cos["dims"][1]
    query = by_head(data, pairs, attributes.get("num_heads"))
    batch, heads, count, head_dim = query.shape
    positions = start["data"] if len(start["data"]) == batch * count else [
        start["data"][0] + n for n in range(count)] * batch
    positions = np.reshape(positions, (batch, count))
    pairing = "adjacent" if attributes.get("interleaved") else "halves"
    expected = by_head(case["outputs"][0], pairs, attributes.get("num_heads"))
    largest = 0.0
    for row in range(batch):
        made = sextant.vectors(spec_of(pairs, cos, sin, pairing), positions=positions[row],
                               heads=heads, head_dim=head_dim, inputs={"inputs": {"query": query[row]}})
        largest = max(largest, float(np.abs(made["encoded"]["query"] - expected[row]).max()))
    return largest


def main():
    arguments = parse_arguments()
    if not GOLDEN.exists():
        print("golden files: skipped, ../shared/goldens is not beside the project")
        return 0
    sextant, wrong, cases = Sextant(arguments.sextant), 0, 0
    text = re.sub(r"^\s*//.*$", "", GOLDEN.read_text(), flags=re.M)
    for group in json.loads(text):
        attributes = {item["name"]: item["data"] for item in group["attributes"]}
        for case in group["cases"]:
            cases += 1
            difference = largest_difference(sextant, case, attributes)
            if difference > TOLERANCE:
                wrong += 1
                print(f"golden files: WRONG {group['name']}, {case['name']}: differs by {difference:.1e}")
    print(f"golden files: {cases} cases of ONNX Runtime's rotary tests, {wrong} wrong")
    return 1 if wrong or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
