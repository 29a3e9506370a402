//! A client of `MasterService` over tonic's HTTP/2 and gRPC: independent of ours.

use thalweg_dist::Server;
use thalweg_proto::*;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::{Channel, Endpoint};
use tonic::{IntoRequest, Response, Status};
use tonic_prost::ProstCodec;

type Answer<T> = Result<Response<T>, Status>;

#[derive(Clone)]
pub struct Client(Grpc<Channel>);

impl Client {
    /// A client with its own connection.
    pub async fn connect(server: &Server) -> Client {
        let endpoint = Endpoint::from_shared(format!("http://{}", server.address())).unwrap();
        let calls = Grpc::new(endpoint.connect().await.unwrap());
        let most = i32::MAX as usize;
        Client(calls.max_decoding_message_size(most).max_encoding_message_size(most))
    }

    async fn unary<A: Message + 'static, B: Message + Default + 'static>(
        &mut self,
        method: &str,
        request: impl IntoRequest<A>,
    ) -> Answer<B> {
        self.0.ready().await.map_err(|e| Status::unknown(format!("not ready: {e}")))?;
        let path = PathAndQuery::try_from(format!("/tensorflow.MasterService/{method}")).unwrap();
        self.0.unary(request.into_request(), path, ProstCodec::default()).await
    }

    pub async fn create_session(
        &mut self,
        request: impl IntoRequest<CreateSessionRequest>,
    ) -> Answer<CreateSessionResponse> {
        self.unary("CreateSession", request).await
    }

    pub async fn extend_session(
        &mut self,
        request: impl IntoRequest<ExtendSessionRequest>,
    ) -> Answer<ExtendSessionResponse> {
        self.unary("ExtendSession", request).await
    }

    pub async fn partial_run_setup(
        &mut self,
        request: impl IntoRequest<PartialRunSetupRequest>,
    ) -> Answer<PartialRunSetupResponse> {
        self.unary("PartialRunSetup", request).await
    }

    pub async fn run_step(&mut self, request: impl IntoRequest<RunStepRequest>) -> Answer<RunStepResponse> {
        self.unary("RunStep", request).await
    }

    pub async fn close_session(
        &mut self,
        request: impl IntoRequest<CloseSessionRequest>,
    ) -> Answer<CloseSessionResponse> {
        self.unary("CloseSession", request).await
    }

    pub async fn list_devices(
        &mut self,
        request: impl IntoRequest<ListDevicesRequest>,
    ) -> Answer<ListDevicesResponse> {
        self.unary("ListDevices", request).await
    }

    pub async fn reset(&mut self, request: impl IntoRequest<ResetRequest>) -> Answer<ResetResponse> {
        self.unary("Reset", request).await
    }

    pub async fn make_callable(
        &mut self,
        request: impl IntoRequest<MakeCallableRequest>,
    ) -> Answer<MakeCallableResponse> {
        self.unary("MakeCallable", request).await
    }

    pub async fn run_callable(
        &mut self,
        request: impl IntoRequest<RunCallableRequest>,
    ) -> Answer<RunCallableResponse> {
        self.unary("RunCallable", request).await
    }

    pub async fn release_callable(
        &mut self,
        request: impl IntoRequest<ReleaseCallableRequest>,
    ) -> Answer<ReleaseCallableResponse> {
        self.unary("ReleaseCallable", request).await
    }
}
