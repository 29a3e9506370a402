//! The messages that peers and files can send.

use thalweg_proto::*;

pub struct Kind {
    pub name: fn() -> String,
    pub room: fn(&Pieces) -> usize,
    pub decode: fn(Pieces) -> bool,
    /// Whether all the bytes are of use: nothing is given twice.
    pub is_as_written: fn(&Bytes) -> bool,
}

macro_rules! kinds {
    ($($message:ty),* $(,)?) => {
        pub const ALL: &[Kind] = &[$(Kind {
            name: <$message as Name>::full_name,
            room: max_decoded_size::<$message>,
            decode: |pieces| <$message as Message>::decode(pieces).is_ok(),
            is_as_written: |bytes| {
                decode::<$message>(bytes.clone()).is_ok_and(|m| m.encoded_len() >= bytes.len())
            },
        }),*];
    };
}

kinds!(
    // In files and tensors.
    GraphDef,
    MetaGraphDef,
    SavedModel,
    Event,
    Example,
    SequenceExample,
    ServerDef,
    Summary,
    SummaryMetadata,
    BundleEntryProto,
    BundleHeaderProto,
    ResourceHandleProto,
    TensorProto,
    // In calls.
    CleanupAllRequest,
    CleanupAllResponse,
    CleanupGraphRequest,
    CleanupGraphResponse,
    CloseSessionRequest,
    CloseSessionResponse,
    CompleteGroupRequest,
    CompleteGroupResponse,
    CompleteInstanceRequest,
    CompleteInstanceResponse,
    CreateSessionRequest,
    CreateSessionResponse,
    CreateWorkerSessionRequest,
    CreateWorkerSessionResponse,
    DeleteWorkerSessionRequest,
    DeleteWorkerSessionResponse,
    DeregisterGraphRequest,
    DeregisterGraphResponse,
    ExtendSessionRequest,
    ExtendSessionResponse,
    GetStatusRequest,
    GetStatusResponse,
    GetStepSequenceRequest,
    GetStepSequenceResponse,
    ListDevicesRequest,
    ListDevicesResponse,
    LoggingRequest,
    LoggingResponse,
    MakeCallableRequest,
    MakeCallableResponse,
    MarkRecvFinishedRequest,
    MarkRecvFinishedResponse,
    PartialRunSetupRequest,
    PartialRunSetupResponse,
    RecvBufRequest,
    RecvBufResponse,
    RecvTensorRequest,
    RecvTensorResponse,
    RegisterGraphRequest,
    RegisterGraphResponse,
    ReleaseCallableRequest,
    ReleaseCallableResponse,
    ResetRequest,
    ResetResponse,
    RunCallableRequest,
    RunCallableResponse,
    RunGraphRequest,
    RunGraphResponse,
    RunStepRequest,
    RunStepResponse,
    TracingRequest,
    TracingResponse,
);
