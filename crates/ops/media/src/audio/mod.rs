//! Sound: WAV files, spectrograms, and the coefficients that speech recognition uses.

mod mfcc;
mod spectrogram;
mod wav;

use crate::join;
use thalweg_core::op::Op;

pub static OPS: &[&Op] = join![mfcc::OPS, spectrogram::OPS, wav::OPS];
