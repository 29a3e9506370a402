"""Writes the C headers from the sources of crates/capi, so that they declare what the library has.

    python tests/capi/header.py            writes crates/capi/include
    python tests/capi/header.py --check    fails if it would change anything

A declaration's comment is that of the Rust function. Types, structures and enumerations are in the files *.in beside this one.
"""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).parent
CRATE = HERE.parent.parent / "crates" / "capi"
INCLUDE = CRATE / "include" / "tensorflow" / "c"

# Where the functions of a source are declared.
FILES = {
    "status.rs": "tf_status.h",
    "buffer.rs": "tf_buffer.h",
    "tstring.rs": "tf_tstring.h",
    "tensor.rs": "tf_tensor.h",
    "eager/experimental.rs": "eager/c_api_experimental.h",
    "checkpoint.rs": "c_api_experimental.h",
}

# Handles by their type in Rust; where a name stands for several, by source.
HANDLES = {
    "Status": "TF_Status", "Buffer": "TF_Buffer", "BufferView": "TF_Buffer", "TString": "TF_TString", "Tensor": "TF_Tensor",
    "Graph": "TF_Graph", "Operation": "TF_Operation", "Description": "TF_OperationDescription", "Function": "TF_Function",
    "Results": "TF_ImportGraphDefResults", "Session": "TF_Session", "DeviceList": "TF_DeviceList", "Deprecated": "TF_DeprecatedSession",
    "Server": "TF_Server", "Library": "TF_Library", "ApiDefs": "TF_ApiDefMap", "Metadata": "TF_AttrMetadata", "Params": "TF_WhileParams",
    "Context": "TFE_Context", "TensorHandle": "TFE_TensorHandle", "InArray": "TFE_TensorHandle*", "Call": "TFE_Op",
    "DebugInfo": "TFE_TensorDebugInfo", "Reader": "TF_CheckpointReader", "Executor": "TFE_Executor", "Options": "TF_SessionOptions",
}
OPTIONS = {"import.rs": "TF_ImportGraphDefOptions", "eager/context.rs": "TFE_ContextOptions"}

PLAIN = {
    "c_int": "int", "c_uint": "unsigned int", "c_uchar": "unsigned char", "c_char": "char", "c_void": "void", "usize": "size_t",
    "i64": "int64_t", "u64": "uint64_t", "u8": "uint8_t", "f32": "float", "bool": "bool",
}

# Numbers that are of an enumeration.
ENUMS = {
    "dtype": "TF_DataType", "code": "TF_Code", "policy": "TFE_ContextDevicePlacementPolicy",
}
RETURNS = {
    "TF_GetCode": "TF_Code", "TF_TensorType": "TF_DataType", "TF_OperationOutputType": "TF_DataType",
    "TF_OperationInputType": "TF_DataType", "TFE_TensorHandleDataType": "TF_DataType", "TF_StringGetType": "TF_TString_Type",
    "TFE_OpGetAttrType": "TF_AttrType", "TFE_OpNameGetAttrType": "TF_AttrType",
    "TFE_ContextGetDevicePlacementPolicy": "TFE_ContextDevicePlacementPolicy",
}
# Parameters whose type C writes otherwise.
PARAMETERS = {
    ("TF_SetAttrType", "value"): "TF_DataType value", ("TF_SetAttrTypeList", "values"): "const TF_DataType* values",
    ("TF_OperationGetAttrType", "value"): "TF_DataType* value", ("TF_OperationGetAttrTypeList", "values"): "TF_DataType* values",
    ("TFE_OpSetAttrType", "value"): "TF_DataType value", ("TFE_OpSetAttrTypeList", "values"): "const TF_DataType* values",
    ("TF_UpdateEdge", "to"): "TF_Input to", ("TF_OperationInput", "input"): "TF_Input input", ("TF_OperationInputType", "input"): "TF_Input input",
    ("TF_OperationOutputConsumers", "found"): "TF_Input* found",
    ("TF_OperationGetAttrString", "value"): "void* value", ("TF_OperationGetAttrStringList", "values"): "void** values",
    ("TF_OperationGetAttrStringList", "storage"): "void* storage", ("TF_OperationGetAttrName", "into"): "char* into",
    ("TFE_ContextAddFunctionDef", "proto"): "const char* proto", ("TF_ApiDefMapGet", "name"): "const char* name",
    ("TF_StringCopy", "bytes"): "const char* bytes", ("TF_DeletePRunHandle", "handle"): "const char* handle",
    ("TF_InitMain", "_2"): "char*** argv", ("TF_GraphToFunction", "_options"): "const TF_FunctionOptions* options",
    ("TF_GraphToFunctionWithControlOutputs", "_options"): "const TF_FunctionOptions* options",
    ("TF_ImportGraphDefResultsReturnOutputs", "outputs"): "TF_Output** outputs",
    ("TF_ImportGraphDefResultsReturnOperations", "operations"): "TF_Operation*** operations",
    ("TF_ImportGraphDefResultsMissingUnusedInputMappings", "names"): "const char*** names",
    ("TF_ImportGraphDefResultsMissingUnusedInputMappings", "indices"): "int** indices",
    ("TFE_OpAddInputList", "inputs"): "TFE_TensorHandle** inputs",
    ("TFE_OpSetAttrShapeList", "dims"): "const int64_t** dims", ("TFE_OpSetAttrFunctionList", "values"): "const TFE_Op** values",
}


def split(text):
    """The parts of a list that commas part, but not those inside of brackets."""
    parts, depth, start = [], 0, 0
    for i, c in enumerate(text):
        depth += (c in "<([") - (c in ">)]" and text[i - 1] != "-")
        if c == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [p.strip() for p in parts + [text[start:]] if p.strip()]


class Source:
    def __init__(self, path):
        self.name = str(path.relative_to(CRATE / "src"))
        self.text = path.read_text()

    def value(self, t):
        """A type as the element of an array, or the target of a pointer."""
        t = re.sub(r"(?:\w+::)+", "", t)
        if t in PLAIN:
            return PLAIN[t]
        if t == "Port":
            return "TF_Output"
        if t == "Text":
            return "const char*"
        if match := re.fullmatch(r"Array<(.*)>", t):
            inner = self.value(match[1])
            return "const void*" if match[1] == "u8" else f"const {inner}*"
        if match := re.fullmatch(r"Handle<(.*)>|Option<Box<(.*)>>|Box<(.*)>", t):
            return self.handle(next(g for g in match.groups() if g)) + "*"
        if match := re.fullmatch(r"\*const (.*)", t):
            return "const " + self.value(match[1]) + "*"
        if match := re.fullmatch(r"\*mut (.*)", t):
            return self.value(match[1]) + "*"
        return self.handle(t)

    def handle(self, t):
        return OPTIONS.get(self.name, HANDLES[t]) if t == "Options" else HANDLES[t]

    def parameter(self, function, position, text):
        name, t = text.split(":", 1)
        name, t = name.strip(), t.strip()
        key = name if name != "_" else f"_{position}"
        if written := PARAMETERS.get((function, key)):
            return written
        name = "" if name == "_" else name.lstrip("_")
        if t == "c_int" and name in ENUMS:
            return f"{ENUMS[name]} {name}"
        if match := re.fullmatch(r"Option<extern \"C\" fn\((.*)\)>", t):
            inner = ", ".join(self.value(a.split(":")[-1].strip()) for a in split(match[1]))
            return f"void (*{name})({inner})"
        if t == "Option<Deallocator>":
            return f"void (*{name})(void* data, size_t length, void* arg)"
        if match := re.fullmatch(r"Option<&mut (.*)>", t):
            return f"{self.value(match[1])}* {name}".rstrip()
        if match := re.fullmatch(r"Option<&(.*)>", t):
            return f"const {self.value(match[1])}* {name}".rstrip()
        if match := re.fullmatch(r"Array<(.*)>", t):
            inner = self.value(match[1])
            if match[1] == "u8":
                return f"const void* {name}".rstrip()
            if inner == "TF_Operation*":
                inner = "const TF_Operation*"
            return f"{inner} const* {name}".rstrip() if inner.endswith("*") else f"const {inner}* {name}".rstrip()
        if match := re.fullmatch(r"Out<(.*)>", t):
            return f"{self.value(match[1])}* {name}".rstrip()
        return f"{self.value(t)} {name}".rstrip()

    def functions(self):
        pattern = r'((?:^///.*\n)*)^#\[unsafe\(no_mangle\)\]\npub extern "C" fn (\w+)\(([^{]*?)\)(?: -> ([^{]+?))? \{'
        for comment, name, parameters, result in re.findall(pattern, self.text, re.M):
            lines = [line.replace("///", "//", 1).rstrip() for line in comment.splitlines()]
            result = RETURNS.get(name) or (self.value(result.strip()) if result else "void")
            given = [self.parameter(name, i, p) for i, p in enumerate(split(parameters))]
            yield "\n".join(lines + [f"{result} {name}({', '.join(given) or 'void'});"])


def headers():
    found = {}
    for path in sorted((CRATE / "src").rglob("*.rs")):
        source = Source(path)
        default = "eager/c_api.h" if source.name.startswith("eager/") else "c_api.h"
        found.setdefault(FILES.get(source.name, default), []).extend(source.functions())
    for template in sorted(HERE.glob("*.in")):
        name = template.name.removesuffix(".in").replace("__", "/")
        declared = "\n".join(found.pop(name, []))
        yield INCLUDE / name, template.read_text().replace("@FUNCTIONS@", declared)
    assert not found, f"no template for {sorted(found)}"


def main():
    changed = [path for path, text in headers() if not path.exists() or path.read_text() != text]
    if "--check" in sys.argv:
        sys.exit(f"not as the sources have it: {[str(p) for p in changed]}; run tests/capi/header.py" if changed else 0)
    for path, text in headers():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
