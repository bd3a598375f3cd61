"""``python -m tests.ecosystem`` prints a table of the groups: how many calls there are, work, and give their own kind of array.

``--failures`` prints the calls that do not work; ``--of numpy`` judges NumPy's arrays instead of tensors.
"""

import argparse
import json

from .calls import FASTOPS, NUMPY, groups

KINDS = {"fastops": FASTOPS, "numpy": NUMPY, NUMPY[0]: NUMPY}


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.ecosystem", description=__doc__.splitlines()[0])
    parser.add_argument("--of", default="fastops", choices=KINDS)
    parser.add_argument("--facts", nargs=2, metavar=("FILE", "GROUP"), help="the facts of one group as JSON")
    parser.add_argument("--failures", action="store_true", help="list the calls that do not work")
    options = parser.parse_args()
    kind = KINDS[options.of]
    if options.facts:
        file, name = options.facts
        print(json.dumps(groups([file])[0][name].facts(kind)))
        return
    found, missing = groups()
    rows, failures = [], []
    for group in found.values():
        facts = group.facts(kind)
        rows.append((group.name, len(facts), sum(fact[0] for fact in facts.values()), sum(fact[1] for fact in facts.values())))
        failures += [f"- {group.name}: {name}: {fact[2]}" for name, fact in facts.items() if not fact[0]]
    rows.append(("**all**", *map(sum, zip(*[row[1:] for row in rows]))))
    print("| group | calls | work | native |\n|---|---|---|---|")
    for row in rows:
        print("| {} | {} | {} | {} |".format(*row))
    for name, reason in missing.items():
        print(f"\n{name}: {reason}")
    if options.failures:
        print("\n" + "\n".join(failures))


if __name__ == "__main__":
    main()
