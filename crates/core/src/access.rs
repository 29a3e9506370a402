//! `Access`: which files of the machine graphs may touch. `thalweg_io::access` asks it before anything is opened.

use std::path::PathBuf;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// All that the process may access: the graphs are its own.
    #[default]
    Everything,
    /// What lies in these directories, which are absolute and free of symbolic links.
    Only(Directories),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directories {
    pub read: Vec<PathBuf>,
    /// May be read too.
    pub write: Vec<PathBuf>,
}

impl Access {
    pub fn nothing() -> Access {
        Access::Only(Directories::default())
    }
}
