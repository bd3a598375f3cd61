#!/usr/bin/env bash
# Runs `make test` under each supported Python that this machine has, in an environment of its own.
set -uo pipefail
cd "$(dirname "$0")/.."
failed=0
for version in 3.11 3.12 3.13; do
    found=""
    for candidate in "$(command -v "python$version" || true)" "$HOME"/.pyenv/versions/"$version"*/bin/"python$version"; do
        # A launcher may be on the path without the interpreter behind it: only one that runs counts.
        if [ -n "$candidate" ] && "$candidate" -c "import ensurepip, sys, venv; sys.exit('%d.%d' % sys.version_info[:2] != '$version')" 2>/dev/null; then
            found=$candidate
            break
        fi
    done
    if [ -z "$found" ]; then
        echo "== Python $version: not found, not tested"
        continue
    fi
    echo "== Python $version: $found"
    # The newest NumPy, which the libraries of the other extras may not allow yet.
    make --no-print-directory test EXTRAS=test PYTHON="$found" VENV=".venv-$version" || failed=1
done
exit $failed
