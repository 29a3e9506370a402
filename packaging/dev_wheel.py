"""A wheel of the package as it was built for testing: `dev_wheel.py target/debug/lib_engine.so FOLDER`.

`make wheel` builds the one that is published, with maturin, which always compiles for itself: this one takes what `cargo build --workspace`
has compiled for all other tests.
"""

import base64
import hashlib
import pathlib
import sys
import sysconfig
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
VERSION = next(line.split('"')[1] for line in (ROOT / "Cargo.toml").read_text().splitlines() if line.startswith("version"))
INFO = f"thalweg-{VERSION}.dist-info"
TAG = "cp39-abi3-" + sysconfig.get_platform().replace("-", "_").replace(".", "_")


def main(library, folder):
    package = ROOT / "python" / "thalweg"
    files = {f"thalweg/{path.relative_to(package)}": path.read_bytes()
             for path in sorted(package.rglob("*")) if path.suffix in (".py", ".pyi", ".typed")}
    files["thalweg/_engine.abi3.so"] = pathlib.Path(library).read_bytes()
    files[f"{INFO}/METADATA"] = f"Metadata-Version: 2.1\nName: thalweg\nVersion: {VERSION}\nRequires-Python: >=3.9\nRequires-Dist: numpy\n".encode()
    files[f"{INFO}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: thalweg\nRoot-Is-Purelib: false\nTag: {TAG}\n".encode()
    files[f"{INFO}/entry_points.txt"] = b"[console_scripts]\nthalweg = thalweg.__main__:main\n"
    record = "".join(f"{name},sha256={digest(data)},{len(data)}\n" for name, data in files.items()) + f"{INFO}/RECORD,,\n"
    files[f"{INFO}/RECORD"] = record.encode()
    path = pathlib.Path(folder) / f"thalweg-{VERSION}-{TAG}.whl"
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as wheel:
        for name, data in files.items():
            wheel.writestr(name, data)
    print(path)


def digest(data):
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


main(*sys.argv[1:])
