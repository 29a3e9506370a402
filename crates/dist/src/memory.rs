//! How much memory the machine has, where it says so.

/// Bytes of memory; none where `/proc/meminfo` does not exist.
pub fn total() -> Option<usize> {
    total_in(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

fn total_in(text: &str) -> Option<usize> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<usize>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_is_read() {
        assert_eq!(total_in("MemTotal:       24689000 kB\nMemFree: 1 kB\n"), Some(24689000 << 10));
        assert_eq!(total_in("MemTotal: many kB"), None);
        assert_eq!(total_in(""), None);
    }
}
