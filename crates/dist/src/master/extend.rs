//! ExtendSession.

use super::Master;
use crate::auth::Caller;
use thalweg_core::error::{Result, aborted};
use thalweg_core::sync::lock;
use thalweg_proto::{ExtendSessionRequest, ExtendSessionResponse};

pub async fn extend_session(
    master: &Master,
    caller: &Caller,
    request: ExtendSessionRequest,
) -> Result<ExtendSessionResponse> {
    let session = master.sessions.find(&request.session_handle, caller)?;
    let extend = move || {
        let mut version = lock(&session.version);
        let expected = request.current_graph_version;
        if *version != expected {
            return Err(aborted(format_args!(
                "Current version is {} but caller expected {expected}.",
                *version
            )));
        }
        session.session.extend_with(|g| request.graph_def.as_ref().map_or(Ok(()), |def| g.import(def)))?;
        *version += 1;
        Ok(ExtendSessionResponse { new_graph_version: *version })
    };
    master.task.threads.prepare(&caller.party, extend).await
}
