"""Builds the compiled rooms. Everything else stands in pyproject.toml."""

import os
import sys
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
    "nonecheck": False,
    "always_allow_keywords": True,
    "auto_pickle": False,
}
NUMPY_API = [("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"), ("NPY_TARGET_VERSION", "NPY_2_0_API_VERSION")]
# FASTOPS_CFLAGS replaces the flags, for sanitizers and profiles; no -march: a wheel runs on other machines too.
FLAGS = os.environ.get("FASTOPS_CFLAGS", "-O3 -g0 -fvisibility=hidden -fno-strict-aliasing -Wno-sign-compare").split()


class BuildRooms(build_ext):
    """The extensions side by side, one for each processor; an editable installation compiles only what changed."""

    def finalize_options(self):
        if self.editable_mode:      # setuptools would build in a folder that it throws away
            self.build_lib = "build/lib"
            self.build_temp = f"build/{sys.implementation.cache_tag}"
        super().finalize_options()
        self.parallel = self.parallel or os.cpu_count()


# NumPy ships its samplers as a library for others to link. A product and a sum that a compiler fuses would change the last bit
# of random numbers, which are to be the same everywhere.
NUMPY = Path(numpy.__file__).parent
SPECIAL = {"fastops._random": {"extra_compile_args": FLAGS + ["-ffp-contract=off", "-fno-math-errno", "-fno-trapping-math"],
                               "libraries": ["npyrandom", "npymath"],
                               "library_dirs": [str(NUMPY / "random" / "lib"), str(NUMPY / "_core" / "lib")]}}


sources = sorted(Path("fastops").rglob("*.pyx"))
extensions = [Extension(".".join(source.with_suffix("").parts), [str(source)],
                        include_dirs=[numpy.get_include(), "fastops"], define_macros=NUMPY_API,
                        depends=[str(header) for header in sorted(Path("fastops").glob("*.h"))],
                        **{"extra_compile_args": FLAGS, **SPECIAL.get(".".join(source.with_suffix("").parts), {})})
              for source in sources]

# NumPy's declarations for Cython differ between its versions: what one generated, another's headers may not compile.
setup(ext_modules=cythonize(extensions, build_dir=f"build/numpy-{numpy.__version__}", compiler_directives=DIRECTIVES),
      cmdclass={"build_ext": BuildRooms})
