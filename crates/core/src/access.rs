//! `Access`: which files graphs may access. `thalweg_io::access` checks it before anything is opened.

use std::path::PathBuf;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// All files that the process may access.
    #[default]
    Everything,
    /// Files in these directories, which are absolute and without symbolic links.
    Only(Directories),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directories {
    pub read: Vec<PathBuf>,
    /// Readable too.
    pub write: Vec<PathBuf>,
}

impl Access {
    pub fn nothing() -> Access {
        Access::Only(Directories::default())
    }
}
