//! The limit of open files (RLIMIT_NOFILE) and connections.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Files other than clients' connections: those to other tasks, files of graphs, the program's own.
const OTHERS: u64 = 256;

/// Raises the soft limit to the hard one (the soft one is low for programs that use `select`); returns the number of
/// connections that it allows.
pub fn for_connections() -> usize {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
    let files = if raised.is_ok() { maximum } else { current };
    connections_of(files)
}

fn connections_of(files: Option<u64>) -> usize {
    // An assumed limit if there is none.
    let files = files.unwrap_or(1 << 20);
    usize::try_from(files.saturating_sub(OTHERS).max(files / 2)).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_connections_and_the_soft_limit_is_the_hard_one() {
        assert!(for_connections() > 100);
        let limit = getrlimit(Resource::Nofile);
        assert_eq!(limit.current, limit.maximum);
    }

    #[test]
    fn connections_leave_files_to_others() {
        for (files, connections) in [
            (None, (1 << 20) - 256),
            (Some(100), 50),
            (Some(512), 256),
            (Some(1024), 768),
            (Some(u64::MAX), usize::MAX - 256),
        ] {
            assert_eq!(connections_of(files), connections);
        }
    }
}
