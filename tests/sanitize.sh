#!/usr/bin/env bash
# Builds the compiled rooms with AddressSanitizer and UBSan in build/sanitize and runs the suite on them: several minutes.
# Freelists are off in that build, so that every free is seen. Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-$PWD/.venv/bin/python}
tree=build/sanitize
mkdir -p "$tree"
for folder in fastops tests docs examples; do
    rm -rf "${tree:?}/$folder"
    cp -r "$folder" "$tree/"
done
find "$tree" -name "*.so" -path "*/fastops/*" -delete
cp setup.py pyproject.toml README.md LICENSE "$tree/"
cd "$tree"
export FASTOPS_CFLAGS="-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize=alignment \
-fno-sanitize-recover=undefined -DFASTOPS_SANITIZE -w"
"$python" setup.py --quiet build_ext --inplace
# Leaks are tests/test_memory.py's affair: an interpreter never frees all it has. ASan must be the first library.
ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:handle_segv=1 UBSAN_OPTIONS=print_stacktrace=1 PYTHONMALLOC=malloc \
    LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)" PYTHONPATH="$PWD" \
    "$python" -m pytest -q -x -m "not packaging" --ignore=tests/test_memory.py --ignore=tests/test_fuzz.py tests "$@"
