//! `TF_SessionOptions`: where a session runs, and its ConfigProto.

use crate::buffer::{Buffer, decode};
use crate::pointers::{Array, Text, need};
use crate::status::{Status, answer, quiet};
use std::ffi::{c_uchar, c_uint};
use thalweg_core::error::Result;
use thalweg_proto::{ConfigProto, RunOptions as RunOptionsProto};
use thalweg_runtime::{RunOptions, SessionOptions};

#[derive(Default, Clone)]
pub struct Options {
    pub target: String,
    pub config: ConfigProto,
}

impl Options {
    /// The options of a session in this process.
    pub fn local(&self) -> Result<SessionOptions> {
        // Sessions in a process may have pools of their own; ours have one each.
        let config = ConfigProto { session_inter_op_thread_pool: Vec::new(), ..self.config.clone() };
        let mut options = thalweg_dist::session_options(&SessionOptions::default(), &config)?;
        options.any_feed_shape = true;
        options.threads = usize::try_from(config.intra_op_parallelism_threads).unwrap_or(0);
        Ok(options)
    }

    pub fn is_local(&self) -> bool {
        matches!(self.target.as_str(), "" | "local")
    }
}

/// The options of a run, from a buffer with RunOptions, which may be null.
pub fn run_options(buffer: Option<&Buffer>) -> Result<RunOptions> {
    let options = buffer.map(|b| b.decode::<RunOptionsProto>("RunOptions")).transpose()?;
    Ok(thalweg_dist::run_options(options.as_ref()))
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_NewSessionOptions() -> Box<Options> {
    Box::default()
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_DeleteSessionOptions(options: Option<Box<Options>>) {
    drop(options);
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_SetTarget(options: Option<&mut Options>, target: Text) {
    quiet((), || {
        need(options)?.target = target.or_empty()?.to_string();
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_SetConfig(
    options: Option<&mut Options>,
    proto: Array<u8>,
    length: usize,
    status: Option<&mut Status>,
) {
    answer(status, (), || {
        need(options)?.config = decode(proto.slice(length)?, "ConfigProto")?;
        Ok(())
    });
}

/// XLA is not there: sessions run as without it.
#[unsafe(no_mangle)]
pub extern "C" fn TF_EnableXLACompilation(_: Option<&mut Options>, _: c_uchar) {}

#[unsafe(no_mangle)]
pub extern "C" fn TF_CreateConfig(_xla: c_uchar, _grow: c_uchar, cpus: c_uint) -> Option<Box<Buffer>> {
    quiet(None, || {
        let mut config = ConfigProto::default();
        config.device_count.insert("CPU".into(), i32::try_from(cpus).unwrap_or(i32::MAX));
        Ok(Some(Box::new(Buffer::of(&thalweg_proto::encode(&config))?)))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn TF_CreateRunOptions(trace: c_uchar) -> Option<Box<Buffer>> {
    quiet(None, || {
        let trace_level = if trace != 0 { 3 } else { 0 };
        let options = RunOptionsProto { trace_level, ..Default::default() };
        Ok(Some(Box::new(Buffer::of(&thalweg_proto::encode(&options))?)))
    })
}
