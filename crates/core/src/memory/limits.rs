//! The memory limit of the process: of its control groups (v1 and v2) and their parents, its address space, the machine.

use std::fmt;
use std::path::{Path, PathBuf};

/// Where a limit comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Asked,
    Cgroup,
    AddressSpace,
    Machine,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Asked => "--memory-limit",
            Source::Cgroup => "cgroup",
            Source::AddressSpace => "RLIMIT_AS",
            Source::Machine => "MemTotal",
        })
    }
}

/// The system's files that state limits.
pub struct System<'a> {
    pub read: &'a dyn Fn(&Path) -> Option<String>,
    pub page: usize,
}

impl Default for System<'_> {
    fn default() -> Self {
        System { read: &|path| std::fs::read_to_string(path).ok(), page: 4096 }
    }
}

/// The lowest of the system's limits, and its source; `None` if there is none.
pub fn total(system: &System<'_>) -> Option<(usize, Source)> {
    let found = [
        (cgroup(system), Source::Cgroup),
        (address_space(system), Source::AddressSpace),
        (machine(system), Source::Machine),
    ];
    found.into_iter().filter_map(|(bytes, source)| Some((bytes?, source))).min_by_key(|f| f.0)
}

impl System<'_> {
    fn text(&self, path: impl AsRef<Path>) -> Option<String> {
        (self.read)(path.as_ref())
    }
}

fn machine(system: &System<'_>) -> Option<usize> {
    let text = system.text("/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()?.checked_mul(1024)
}

/// The remaining address space, less an eighth for thread stacks and malloc's arenas.
fn address_space(system: &System<'_>) -> Option<usize> {
    let text = system.text("/proc/self/limits")?;
    let line = text.lines().find_map(|line| line.strip_prefix("Max address space"))?;
    let limit = line.split_whitespace().next()?.parse::<usize>().ok()?;
    let left = limit.saturating_sub(mapped(system).unwrap_or(0));
    Some(left - left / 8)
}

fn mapped(system: &System<'_>) -> Option<usize> {
    let pages = system.text("/proc/self/statm")?.split_whitespace().next()?.parse::<usize>().ok()?;
    pages.checked_mul(system.page)
}

/// The lowest limit of the process's memory control groups, of both versions, and of their parents.
fn cgroup(system: &System<'_>) -> Option<usize> {
    let (own, mounts) = (system.text("/proc/self/cgroup")?, system.text("/proc/self/mountinfo")?);
    let groups = own.lines().filter_map(Group::parse);
    groups.filter_map(|group| group.limit(system, &mounts)).min()
}

/// A memory entry of `/proc/self/cgroup`: `4:memory:/path`, or `0::/path` of version 2.
struct Group<'a> {
    is_v2: bool,
    path: &'a str,
}

impl<'a> Group<'a> {
    fn parse(line: &'a str) -> Option<Group<'a>> {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let is_v2 = controllers.is_empty();
        (is_v2 || controllers.split(',').any(|c| c == "memory")).then_some(Group { is_v2, path })
    }

    fn limit(&self, system: &System<'_>, mounts: &str) -> Option<usize> {
        let mount = mounts.lines().filter_map(Mount::parse).find(|m| m.shows(self.is_v2))?;
        let file = if self.is_v2 { "memory.max" } else { "memory.limit_in_bytes" };
        // The mount may be of a subtree, as in a container: its root is then a prefix of the path. If it is not,
        // the group is not visible here, but the mount point is.
        let root = mount.root.trim_end_matches('/');
        let below = self.path.strip_prefix(root).filter(|p| !p.contains("..")).unwrap_or("");
        let bottom = Path::new(mount.point);
        let own: PathBuf = bottom.join(below.trim_matches('/'));
        let dirs = own.ancestors().take_while(|dir| dir.starts_with(bottom));
        dirs.filter_map(|dir| system.text(dir.join(file))?.trim().parse::<usize>().ok()).min()
    }
}

/// A line of `/proc/self/mountinfo`: `35 31 0:32 ROOT POINT OPTIONS .. - TYPE SOURCE OPTIONS`.
struct Mount<'a> {
    root: &'a str,
    point: &'a str,
    kind: &'a str,
    options: &'a str,
}

impl<'a> Mount<'a> {
    fn parse(line: &'a str) -> Option<Mount<'a>> {
        let (place, system) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let mut system = system.split(' ');
        Some(Mount {
            root: place.next()?,
            point: place.next()?,
            kind: system.next()?,
            options: system.nth(1).unwrap_or(""),
        })
    }

    fn shows(&self, is_v2: bool) -> bool {
        match is_v2 {
            true => self.kind == "cgroup2",
            false => self.kind == "cgroup" && self.options.split(',').any(|o| o == "memory"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn total_of(files: &[(&str, &str)]) -> Option<(usize, Source)> {
        let read = |path: &Path| files.iter().find(|f| Path::new(f.0) == path).map(|f| f.1.to_string());
        total(&System { read: &read, page: 4096 })
    }

    const MEMINFO: (&str, &str) = ("/proc/meminfo", "MemTotal:       24689000 kB\nMemFree: 1 kB\n");
    const MACHINE: Option<(usize, Source)> = Some((24689000 << 10, Source::Machine));

    #[test]
    fn the_machines_total_is_read() {
        assert_eq!(total_of(&[MEMINFO]), MACHINE);
        assert_eq!(total_of(&[("/proc/meminfo", "MemTotal: many kB")]), None);
        assert_eq!(total_of(&[]), None);
    }

    #[test]
    fn an_address_space_limit_counts_without_what_is_mapped() {
        let statm = ("/proc/self/statm", "1000 200 100 50 0 80 0");
        let line = "Max address space         8192000              unlimited            bytes     \n";
        let limits = ("/proc/self/limits", line);
        assert_eq!(total_of(&[MEMINFO, limits, statm]), Some((4096000 / 8 * 7, Source::AddressSpace)));
        let unlimited = "Max address space         unlimited            unlimited            bytes     \n";
        assert_eq!(total_of(&[MEMINFO, ("/proc/self/limits", unlimited), statm]), MACHINE);
    }

    #[test]
    fn in_version_2_the_least_of_a_group_and_its_parents_counts() {
        let own = ("/proc/self/cgroup", "0::/user.slice/job\n");
        let mounts = (
            "/proc/self/mountinfo",
            "41 31 0:38 / /sys/fs/cgroup rw,relatime shared:4 - cgroup2 cgroup2 rw\n",
        );
        let files = |parent, child| {
            [
                MEMINFO,
                own,
                mounts,
                ("/sys/fs/cgroup/user.slice/memory.max", parent),
                ("/sys/fs/cgroup/user.slice/job/memory.max", child),
            ]
        };
        assert_eq!(total_of(&files("2147483648\n", "max\n")), Some((2 << 30, Source::Cgroup)));
        assert_eq!(total_of(&files("2147483648\n", "1000000\n")), Some((1_000_000, Source::Cgroup)));
        assert_eq!(total_of(&files("max\n", "max\n")), MACHINE);
    }

    #[test]
    fn in_version_1_inside_a_container_the_mount_begins_at_the_group() {
        let own = ("/proc/self/cgroup", "5:devices:/docker/abc\n4:cpu,memory:/docker/abc/inner\n0::/\n");
        let mounts = (
            "/proc/self/mountinfo",
            "35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n\
             36 31 0:33 /docker/abc /sys/fs/cgroup/devices ro - cgroup cgroup rw,devices\n",
        );
        let limit = ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "536870912\n");
        let inner = ("/sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(total_of(&[MEMINFO, own, mounts, limit, inner]), Some((512 << 20, Source::Cgroup)));
    }

    #[test]
    fn a_path_that_leads_out_of_the_mount_reads_the_mount_itself() {
        let own = ("/proc/self/cgroup", "0::/../other\n");
        let mounts = ("/proc/self/mountinfo", "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        let limit = ("/sys/fs/cgroup/memory.max", "4096000");
        assert_eq!(total_of(&[own, mounts, limit]), Some((4_096_000, Source::Cgroup)));
    }
}
