"""The cases of a run: a number for each op, each from its own random source, so that one can be reproduced alone."""

import zlib

import numpy as np

from . import families, mutate
from .case import Gen

# Ops of our table that are not compared by themselves.
NOT_COMPARED = {
    "_Arg": "internal; part of every function call",
    "_Retval": "internal; part of every function call",
    "_Send": "internal; made by partitioning",
    "_Recv": "internal; made by partitioning",
    "_HostSend": "internal; made by partitioning",
    "_HostRecv": "internal; made by partitioning",
    "Send": "compared in test_server_answers.py, with its Recv",
    "Recv": "compared in test_server_answers.py, with its Send",
    **{
        op: "made by TensorFlow's own optimiser; compared in test_cluster.py"
        for op in "_FusedMatMul _FusedConv2D _FusedDepthwiseConv2dNative".split()
    },
    **{
        op: "works on files or writes summaries: compared in test_checkpoints.py and test_events.py"
        for op in (
            "SaveV2 RestoreV2 Save SaveSlices Restore RestoreSlice MergeV2Checkpoints ShardedFilename ShardedFilespec ReadFile WriteFile MatchingFiles "
            "HistogramSummary MergeSummary TensorSummaryV2"
        ).split()
    },
    "_ParallelConcatStart": "internal; what TensorFlow makes of ParallelConcat",
    "_ParallelConcatUpdate": "internal; what TensorFlow makes of ParallelConcat",
    **{
        op: "its tensors are for later steps: compared in test_server_containers.py"
        for op in "GetSessionHandle GetSessionHandleV2 GetSessionTensor DeleteSessionTensor".split()
    },
    **{
        f"TensorArray{what}{v}": "TensorFlow has it only in graphs of old versions: compared in test_server_containers.py"
        for what in ("", "Close", "Concat", "Gather", "Grad", "Read", "Scatter", "Size", "Split", "Write", "Pack", "Unpack")
        for v in ("", "V2")
    },
    "PlaceholderV2": "TensorFlow has it only in graphs of old versions",
    "MakeWeakResourceHandle": "TensorFlow's client has no function for it",
    "QuantizedConcatV2": "TensorFlow's client has no function for it",
    "TileGrad": "TensorFlow's kernel wants an attr that the op does not have",
    "AdjustContrast": "TensorFlow takes it in old GraphDefs only; compared in the op's successor",
    "GraphDefVersion": "TensorFlow's client has no function for it",
    "Abort": "ends TensorFlow's process",
    **{
        op: "writes event files or pictures: compared in test_readers_and_summaries.py"
        for op in (
            "SummaryWriter CreateSummaryFileWriter FlushSummaryWriter CloseSummaryWriter WriteSummary WriteScalarSummary WriteHistogramSummary "
            "WriteImageSummary WriteAudioSummary WriteGraphSummary WriteRawProtoSummary ImportEvent ImageSummary"
        ).split()
    },
    **{op: "reads files: compared in the tests beside the op" for op in ("GenerateVocabRemapping", "LoadAndRemapMatrix")},
    "AudioSummary": "TensorFlow has removed it",
    **{op: "an error by design: there is no Python to call" for op in "PyFunc PyFuncStateless EagerPyFunc".split()},
    "AccumulatorNumStale": "ours alone: TensorFlow does not count what it drops",
    **{
        op: "TensorFlow takes it in old GraphDefs only; compared in the op's successor"
        for op in (
            "BatchCholesky BatchCholeskyGrad BatchMatrixBandPart BatchMatrixDeterminant BatchMatrixDiag BatchMatrixDiagPart "
            "BatchMatrixInverse BatchMatrixSetDiag BatchMatrixSolve BatchMatrixSolveLs BatchMatrixTriangularSolve "
            "BatchSelfAdjointEig BatchSelfAdjointEigV2 BatchSvd MatrixExponential SelfAdjointEig"
        ).split()
    },
    "TopK": "TensorFlow registers it but no longer has a kernel",
}


def is_dataset(op):
    """Datasets, iterators and what they give are compared as pipelines, in test_datasets.py."""
    words = "Dataset Iterator Optional MemoryCache SeedGenerator ElementAtIndex GetOptions BatchSize ThreadPool StatsAggregator"
    return any(word in op for word in words.split())


# Ops that TensorFlow's Python refuses to build when it does not know the rank of an input.
STATIC = {"SpaceToBatchND", "BatchToSpaceND"}


def source(seed, op, index):
    return np.random.default_rng([seed, zlib.crc32(op.encode()), index])


def make(make_case, op, seed, index):
    """Case number `index` of an op. One in five is mutated to be invalid."""
    rng = source(seed, op, index)
    start = int(source(seed, op, 1 << 30).integers(1 << 20))  # where the round robin of types starts
    case = make_case(Gen(op, rng, start + index))
    case.label += f"#{index}"
    case.static = bool(rng.random() < 0.3) or op in STATIC
    if not case.build and index % 5 == 4 and op not in STATIC:
        mutate.mutate(case, rng)
    return case


def cases(ops, seed, count, first=0):
    """`count` cases for each op that has a generator."""
    found = families.generators()
    for op in ops:
        if op in found and op not in NOT_COMPARED:
            for index in range(first, first + count):
                yield make(found[op], op, seed, index)
