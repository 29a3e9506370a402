//! Access control of paths: the only code that checks an `Access`.
//!
//! Paths are compared after `..` and symbolic links are resolved; components that do not exist yet are taken literally.
//! Graphs cannot create links, so a path that was allowed stays allowed until it is opened.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Component, Path, PathBuf};
use thalweg_core::access::Access;
use thalweg_core::error::{Code, Error, Lossy, Result, unimplemented};
use thalweg_core::invalid;

/// A path that has been checked; only the functions of this module make one.
#[derive(Debug)]
pub struct Allowed(PathBuf);

impl std::ops::Deref for Allowed {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.0
    }
}

/// The most symbolic links on one path; more are taken for a cycle.
const MAX_LINKS: usize = 40;

/// A path without `file://`, which names this machine's files. Of other file systems there is none.
pub fn local(path: &Path) -> Result<&Path> {
    let bytes = path.as_os_str().as_encoded_bytes();
    let Some(end) = bytes.windows(3).position(|w| w == b"://") else { return Ok(path) };
    let is_scheme = |s: &[u8]| {
        s.first().is_some_and(u8::is_ascii_alphabetic)
            && s.iter().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(b))
    };
    match bytes.get(..end) {
        Some(b"file") => Ok(path.to_str().and_then(|text| text.get(end + 3..)).map_or(path, Path::new)),
        Some(scheme) if is_scheme(scheme) => Err(unimplemented(format_args!(
            "File system scheme '{}' not implemented (file: '{}')",
            Lossy(scheme),
            path.display()
        ))),
        _ => Ok(path),
    }
}

/// A path to read from.
pub fn to_read(access: &Access, path: &Path) -> Result<Allowed> {
    let path = local(path)?;
    let Access::Only(only) = access else { return Ok(Allowed(path.into())) };
    allowed(path, only.read.iter().chain(&only.write), "read", "--allow-read")
}

/// A path to write, rename or remove.
pub fn to_write(access: &Access, path: &Path) -> Result<Allowed> {
    let path = local(path)?;
    let Access::Only(only) = access else { return Ok(Allowed(path.into())) };
    allowed(path, only.write.iter(), "written", "--allow-write")
}

/// The prefix of a checkpoint to read (`PREFIX.index` and others). All existing files of it must resolve to readable paths.
pub fn prefix_to_read(access: &Access, prefix: &Path) -> Result<Allowed> {
    let allowed = prefix_in(access, prefix, to_read)?;
    if let (Access::Only(_), Some(directory), Some(name)) = (access, allowed.parent(), allowed.file_name()) {
        let mut start = name.to_os_string();
        start.push(".");
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            if entry.file_name().as_encoded_bytes().starts_with(start.as_encoded_bytes()) {
                to_read(access, &entry.path())?;
            }
        }
    }
    Ok(allowed)
}

/// The prefix of a checkpoint to write. Its files are renamed into place, which replaces a symbolic link instead of following it.
pub fn prefix_to_write(access: &Access, prefix: &Path) -> Result<Allowed> {
    prefix_in(access, prefix, to_write)
}

/// Checks the directory of a prefix, which is that of its files.
fn prefix_in(
    access: &Access,
    prefix: &Path,
    ask: impl Fn(&Access, &Path) -> Result<Allowed>,
) -> Result<Allowed> {
    let prefix = local(prefix)?;
    match (access, prefix.parent(), prefix.file_name()) {
        (Access::Everything, ..) => Ok(Allowed(prefix.into())),
        (_, Some(directory), Some(name)) => Ok(Allowed(ask(access, directory)?.join(name))),
        _ => {
            Err(invalid!("'{}' is not the prefix of a checkpoint: it must end with a name", prefix.display()))
        }
    }
}

fn allowed<'a>(
    path: &Path,
    mut directories: impl Iterator<Item = &'a PathBuf>,
    done: &str,
    flag: &str,
) -> Result<Allowed> {
    let real = resolve(path).map_err(|e| Error::from(e).context(path.display()))?;
    if directories.any(|d| real.starts_with(d)) {
        return Ok(Allowed(real));
    }
    Err(Error::new(
        Code::PermissionDenied,
        format!(
            "{} may not be {done} by graphs of this server: it is in no directory that the server was started with {flag} for",
            path.display()
        ),
    ))
}

/// A path with `..` and symbolic links resolved.
fn resolve(path: &Path) -> std::io::Result<PathBuf> {
    let mut left = VecDeque::new();
    let mut real = PathBuf::from("/");
    // The parent of a bare file name is the empty path.
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    prepend(&mut left, &std::path::absolute(path)?);
    let mut links = 0;
    while let Some(part) = left.pop_front() {
        if part == ".." {
            real.pop();
            continue;
        }
        real.push(part);
        let target = match real.symlink_metadata() {
            Ok(found) if found.is_symlink() => real.read_link()?,
            Ok(_) => continue,
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => continue,
            Err(e) => return Err(e),
        };
        links += 1;
        if links > MAX_LINKS {
            return Err(std::io::Error::other("too many symbolic links"));
        }
        real.pop();
        if target.is_absolute() {
            real = PathBuf::from("/");
        }
        prepend(&mut left, &target);
    }
    Ok(real)
}

/// Puts the components of a path before those left to resolve.
fn prepend(left: &mut VecDeque<OsString>, path: &Path) {
    let parts = path.components().filter(|c| matches!(c, Component::Normal(_) | Component::ParentDir));
    for part in parts.rev() {
        left.push_front(part.as_os_str().into());
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use crate::scratch::Scratch;
    use std::fs;
    use std::os::unix::fs::symlink;
    use thalweg_core::access::Directories;

    struct Fixture {
        /// Has `inside`, which is allowed, and `outside`, which is not.
        scratch: Scratch,
        access: Access,
    }

    fn fixture() -> Fixture {
        let scratch = Scratch::new();
        for directory in ["inside", "outside", "data"] {
            fs::create_dir(scratch.path(directory)).unwrap();
            fs::write(scratch.path(directory).join("file"), "text").unwrap();
        }
        let real = |name: &str| scratch.path(name).canonicalize().unwrap();
        let access = Access::Only(Directories { read: vec![real("data")], write: vec![real("inside")] });
        Fixture { scratch, access }
    }

    impl Fixture {
        fn code(&self, path: &str, write: bool) -> Option<Code> {
            let path = self.scratch.path(path);
            let asked = if write { to_write(&self.access, &path) } else { to_read(&self.access, &path) };
            asked.err().map(|e| e.code())
        }

        /// Whether it may be read, and whether it may be written.
        fn both(&self, path: &str) -> (bool, bool) {
            (self.code(path, false).is_none(), self.code(path, true).is_none())
        }
    }

    #[test]
    fn only_paths_in_the_directories_are_allowed() {
        let p = fixture();
        for path in
            ["inside", "inside/file", "inside/new/deep/file", "inside/./file", "outside/../inside/file"]
        {
            assert_eq!(p.both(path), (true, true), "{path}");
        }
        assert_eq!(p.both("data/file"), (true, false));
        for path in [
            "outside/file",
            "inside/../outside/file",
            "inside/new/../../outside/file",
            "insider",
            "inside/..",
        ] {
            assert_eq!(p.both(path), (false, false), "{path}");
            assert_eq!(p.code(path, false), Some(Code::PermissionDenied));
        }
        let e = to_read(&p.access, Path::new("/etc/passwd")).unwrap_err();
        assert!(e.message().contains("/etc/passwd") && e.message().contains("--allow-read"), "{e}");
    }

    #[test]
    fn names_may_have_the_scheme_of_files_and_no_other() {
        let p = fixture();
        let inside = format!("file://{}", p.scratch.path("inside/file").display());
        assert_eq!(
            &*to_read(&p.access, Path::new(&inside)).unwrap(),
            p.scratch.path("inside/file").canonicalize().unwrap()
        );
        let outside = format!("file://{}", p.scratch.path("outside/file").display());
        assert_eq!(to_read(&p.access, Path::new(&outside)).unwrap_err().code(), Code::PermissionDenied);
        let other = to_write(&Access::Everything, Path::new("s3://bucket/x")).unwrap_err();
        assert_eq!(other.code(), Code::Unimplemented);
        assert!(other.message().contains("File system scheme 's3' not implemented"));
        assert_eq!(local(Path::new("a/b://c")).unwrap(), Path::new("a/b://c"));
    }

    #[test]
    fn symbolic_links_are_resolved() {
        let p = fixture();
        let (inside, outside) = (p.scratch.path("inside"), p.scratch.path("outside"));
        symlink(outside.join("file"), inside.join("to_file")).unwrap();
        symlink(&outside, inside.join("to_directory")).unwrap();
        symlink("../outside/new", inside.join("to_nothing_yet")).unwrap();
        symlink("to_directory", inside.join("twice")).unwrap();
        symlink("circle", inside.join("circle")).unwrap();
        symlink(&inside, outside.join("back")).unwrap();
        for path in ["to_file", "to_directory/file", "to_directory/new", "to_nothing_yet", "twice/file"] {
            assert_eq!(p.both(&format!("inside/{path}")), (false, false), "{path}");
        }
        assert!(p.code("inside/circle", false).is_some());
        // `..` of a link is the parent of its target.
        assert_eq!(p.both("inside/to_directory/../inside/file"), (true, true));
        assert_eq!(p.both("inside/to_directory/../outside/file"), (false, false));
        assert_eq!(p.both("outside/back/file"), (true, true));
    }

    #[test]
    fn links_to_links_are_followed_up_to_a_limit() {
        let p = fixture();
        symlink("file", p.scratch.path("inside/1")).unwrap();
        for i in 2..=MAX_LINKS + 1 {
            symlink((i - 1).to_string(), p.scratch.path(&format!("inside/{i}"))).unwrap();
        }
        assert_eq!(p.code(&format!("inside/{MAX_LINKS}"), false), None);
        assert!(p.code(&format!("inside/{}", MAX_LINKS + 1), false).is_some());
    }

    #[test]
    fn every_file_of_a_checkpoint_must_be_readable() {
        let p = fixture();
        let prefix = p.scratch.path("inside/model");
        fs::write(p.scratch.path("inside/model.index"), "").unwrap();
        assert!(prefix_to_read(&p.access, &prefix).is_ok());
        symlink(p.scratch.path("outside/file"), p.scratch.path("inside/model.data-00000-of-00001")).unwrap();
        assert_eq!(prefix_to_read(&p.access, &prefix).unwrap_err().code(), Code::PermissionDenied);
        assert!(prefix_to_read(&p.access, &p.scratch.path("inside/mod")).is_ok());
        // The files of this one would be beside the directory: inside.index.
        assert!(prefix_to_write(&p.access, &p.scratch.path("inside")).is_err());
        assert!(prefix_to_write(&p.access, &p.scratch.path("inside/")).is_err());
        assert!(prefix_to_write(&p.access, &p.scratch.path("inside/..")).is_err());
        assert!(prefix_to_write(&p.access, &p.scratch.path("inside/new/model")).is_ok());
    }

    #[test]
    fn graphs_of_the_process_itself_may_use_everything() {
        assert_eq!(&*to_write(&Access::Everything, Path::new("a/../b")).unwrap(), Path::new("a/../b"));
        assert!(to_read(&Access::nothing(), Path::new("/")).is_err());
    }
}
