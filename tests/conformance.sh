#!/usr/bin/env bash
# The array API's public conformance suite (github.com/data-apis/array-api-tests, with its submodule) on this package:
#   tests/conformance.sh PATH_OF_THE_SUITE [EXAMPLES]
# The suite is not part of the project. The failures that are expected, and why, stand below.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
suite=${1:?where is a checkout of array-api-tests?}
examples=${2:-30}
xfails=$(mktemp)
trap 'rm -f "$xfails"' EXIT
# floor_divide of infinities: the suite's table contradicts Python and NumPy, whose values are kept.
for case in "isfinite(x1_i) and x1_i < 0 and x2_i is +infinity) -> -0" "isfinite(x1_i) and x1_i > 0 and x2_i is -infinity) -> -0" \
    "x1_i is +infinity and isfinite(x2_i) and x2_i < 0) -> -infinity" "x1_i is +infinity and isfinite(x2_i) and x2_i > 0) -> +infinity" \
    "x1_i is -infinity and isfinite(x2_i) and x2_i < 0) -> +infinity" "x1_i is -infinity and isfinite(x2_i) and x2_i > 0) -> -infinity"; do
    for name in "test_binary[__floordiv__" "test_binary[floor_divide" "test_iop[__ifloordiv__"; do
        echo "array_api_tests/test_special_cases.py::$name($case]" >> "$xfails"
    done
done
cd "$suite"
PYTHONPATH="$here" ARRAY_API_TESTS_MODULE=fastops ARRAY_API_TESTS_VERSION=2025.12 "${PYTHON:-$here/.venv/bin/python}" -m pytest \
    array_api_tests --max-examples "$examples" --disable-deadline --derandomize --xfails-file "$xfails" -q -p no:cacheprovider
