//! The description of a trained model in its logdir, by which `thalweg predict` rebuilds it.

use crate::images::ImageModel;
use crate::table::Schema;
use serde::{Deserialize, Serialize};
use std::path::Path;
use thalweg_core::error::Result;
use thalweg_core::invalid;
use thalweg_io::durable;

/// What kind of model it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "model", rename_all = "snake_case")]
pub enum Description {
    Table(Schema),
    Images(ImageModel),
}

/// The file in the logdir.
pub const DESCRIPTION_FILE: &str = "model.json";

/// Where an exported model has it: TensorFlow leaves this directory to others.
const EXTRA_DIR: &str = "assets.extra";

/// A longer file is none of ours.
const LONGEST: u64 = 64 << 20;

impl Description {
    pub fn to_json(&self) -> Result<String> {
        serde_json::to_string_pretty(self).map_err(|e| invalid!("the description of the model: {e}"))
    }

    /// Adds the description to an exported model.
    pub fn write_extra(exported: &Path, text: &str) -> Result<()> {
        let folder = exported.join(EXTRA_DIR);
        durable::create_directory(&folder)?;
        durable::write(&folder.join(DESCRIPTION_FILE), text.as_bytes())
    }

    /// Of the run or the exported model in this directory.
    pub fn read(folder: &Path) -> Result<Description> {
        let exported = folder.join(EXTRA_DIR).join(DESCRIPTION_FILE);
        let path = if exported.is_file() { exported } else { folder.join(DESCRIPTION_FILE) };
        let hint = "MODEL is the --logdir or --export of a run of thalweg train csv, records or images, which has this file";
        let size = std::fs::metadata(&path).map_err(|e| durable::with_path(&path, e).hint(hint))?.len();
        if size > LONGEST {
            return Err(invalid!("{}: {size} bytes are too many for a description", path.display()));
        }
        let text = std::fs::read_to_string(&path).map_err(|e| durable::with_path(&path, e))?;
        serde_json::from_str(&text)
            .map_err(|e| invalid!("{}: not the description of a model: {e}", path.display()))
    }
}
