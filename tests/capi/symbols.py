"""Which functions of TensorFlow's headers the C library has, by header.

    python tests/capi/symbols.py [--missing]       with TensorFlow's Python package installed
"""

import importlib.util
import pathlib
import re
import sys

from libraries import OURS
from test_capi import exported

HEADERS = """
    c_api.h tf_status.h tf_tensor.h tf_buffer.h tf_datatype.h tf_tstring.h eager/c_api.h c_api_experimental.h eager/c_api_experimental.h
""".split()


def declared(path):
    text = re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text(), flags=re.S)
    return set(re.findall(r"\b(TFE?_[A-Za-z0-9_]+)\s*\(", text)) - {"TF_CAPI_EXPORT", "TF_OFFSET_OF_END"}


def main():
    folder = importlib.util.find_spec("tensorflow").submodule_search_locations[0]
    ours = set(exported(OURS[0]))
    for name in HEADERS:
        theirs = declared(pathlib.Path(folder, "include", "tensorflow", "c", name))
        missing = sorted(theirs - ours)
        print(f"{name}: {len(theirs) - len(missing)} of {len(theirs)}")
        if "--missing" in sys.argv:
            print("".join(f"    {m}\n" for m in missing), end="")


if __name__ == "__main__":
    main()
