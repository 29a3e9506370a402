//! `TF_Server`: a task of a cluster in this process.

use crate::graph::registry;
use crate::pointers::{Array, c_text, need};
use crate::status::{Status, answer};
use std::ffi::{CString, c_char, c_int};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Condvar, Mutex, PoisonError};
use thalweg_core::error::{Result, failed_precondition};
use thalweg_core::sync::lock;
use thalweg_dist::{Server as Listening, ServerOptions, TaskSpec};

/// It listens when it has been made, as its address must be known; `start` says that it is meant to.
pub struct Server {
    server: Mutex<Option<Listening>>,
    stopped: Condvar,
    target: CString,
}

impl Server {
    fn open(def: &[u8]) -> Result<Server> {
        let spec = TaskSpec::read(def.to_vec())?;
        // A cluster on one machine is not open to others.
        let addresses = spec.cluster.jobs.values().flat_map(|tasks| tasks.values());
        let is_here = |a: &String| {
            matches!(
                a.rsplit_once(':').map_or(a.as_str(), |(host, _)| host),
                "localhost" | "127.0.0.1" | "[::1]"
            )
        };
        let ip = if addresses.clone().all(is_here) { Ipv4Addr::LOCALHOST } else { Ipv4Addr::UNSPECIFIED };
        let alone = addresses.count() == 1;
        let options = ServerOptions {
            address: SocketAddr::from((ip, spec.port.unwrap_or(0))),
            job: spec.job,
            task: spec.index,
            config: spec.config,
            cluster: if alone { Default::default() } else { spec.cluster },
            ..Default::default()
        };
        let server = Listening::start(registry(), options)?;
        let target = c_text(&format!("grpc://localhost:{}", server.address().port()));
        Ok(Server { server: Mutex::new(Some(server)), stopped: Condvar::new(), target })
    }

    fn stop(&self) {
        let server = lock(&self.server).take();
        drop(server);
        self.stopped.notify_all();
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_NewServer(
    proto: Array<u8>,
    length: usize,
    status: Option<&mut Status>,
) -> Option<Box<Server>> {
    answer(status, None, || Ok(Some(Box::new(Server::open(proto.slice(length)?)?))))
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_ServerStart(server: Option<&Server>, status: Option<&mut Status>) {
    answer(status, (), || match lock(&need(server)?.server).is_some() {
        true => Ok(()),
        false => Err(failed_precondition("Server has stopped.")),
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_ServerStop(server: Option<&Server>, status: Option<&mut Status>) {
    answer(status, (), || {
        need(server)?.stop();
        Ok(())
    });
}

/// Waits until the server has been stopped.
#[unsafe(no_mangle)]
pub extern "C" fn TF_ServerJoin(server: Option<&Server>, status: Option<&mut Status>) {
    answer(status, (), || {
        let server = need(server)?;
        let mut listening = lock(&server.server);
        while listening.is_some() {
            listening = server.stopped.wait(listening).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_ServerTarget(server: Option<&Server>) -> *const c_char {
    server.map_or(std::ptr::null(), |s| s.target.as_ptr())
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_DeleteServer(server: Option<Box<Server>>) {
    if let Some(server) = server {
        server.stop();
    }
}

/// A port that nobody listened on a moment ago; 0 if there is none.
#[unsafe(no_mangle)]
pub extern "C" fn TF_PickUnusedPortOrDie() -> c_int {
    let bound = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    bound.and_then(|l| l.local_addr()).map_or(0, |address| c_int::from(address.port()))
}
