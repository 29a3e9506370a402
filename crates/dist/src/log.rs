//! Structured logs: one line of `key=value` pairs for each event, on standard error.

use std::fmt::{Display, Write};
use std::time::{SystemTime, UNIX_EPOCH};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    #[default]
    Off,
    /// Problems: unreachable tasks, lost links.
    Warn,
    /// Sessions opened and closed, start and stop.
    Info,
    /// Every request.
    Debug,
}

/// The log of a server.
#[derive(Clone, Copy, Debug, Default)]
pub struct Log {
    pub level: Level,
}

impl Log {
    pub fn warn(&self, event: &str, pairs: &[(&str, &dyn Display)]) {
        self.write(Level::Warn, event, pairs);
    }

    pub fn info(&self, event: &str, pairs: &[(&str, &dyn Display)]) {
        self.write(Level::Info, event, pairs);
    }

    pub fn debug(&self, event: &str, pairs: &[(&str, &dyn Display)]) {
        self.write(Level::Debug, event, pairs);
    }

    fn write(&self, level: Level, event: &str, pairs: &[(&str, &dyn Display)]) {
        if self.level < level {
            return;
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        eprintln!("{}", line(now, level, event, pairs));
    }
}

fn line(now: f64, level: Level, event: &str, pairs: &[(&str, &dyn Display)]) -> String {
    let level = match level {
        Level::Debug => "debug",
        Level::Info => "info",
        Level::Off | Level::Warn => "warn",
    };
    let mut line = format!("time={now:.6} level={level} event={event}");
    for (key, value) in pairs {
        let text = value.to_string();
        // Writing to a string cannot fail.
        let _ = match text.is_empty() || text.contains([' ', '=', '"', '\n', '\t']) {
            true => write!(line, " {key}={text:?}"),
            false => write!(line, " {key}={text}"),
        };
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_line_of_pairs() {
        let text = line(1.5, Level::Info, "closed", &[("session", &"ab"), ("error", &"x = 1\ny")]);
        assert_eq!(text, r#"time=1.500000 level=info event=closed session=ab error="x = 1\ny""#);
    }

    const TELL: &str = "THALWEG_TEST_TELL";
    const LEVELS: [Level; 4] = [Level::Off, Level::Warn, Level::Info, Level::Debug];

    /// Runs itself as a child process and checks its events.
    #[test]
    fn a_log_tells_what_its_level_asks_for_and_no_more() {
        if let Some(level) = std::env::var(TELL).ok().and_then(|n| n.parse::<usize>().ok()) {
            let log = Log { level: LEVELS[level] };
            log.warn("warned", &[("a", &1)]);
            log.info("informed", &[]);
            return log.debug("traced", &[]);
        }
        for level in 0..LEVELS.len() {
            let mut itself = std::process::Command::new(std::env::current_exe().unwrap());
            itself.args([
                "--exact",
                "log::tests::a_log_tells_what_its_level_asks_for_and_no_more",
                "--nocapture",
            ]);
            let told = itself.env(TELL, level.to_string()).output().unwrap();
            let told = String::from_utf8(told.stderr).unwrap();
            let events: Vec<_> = told.lines().filter_map(|l| l.split_once(" level=")).map(|l| l.1).collect();
            let all = ["warn event=warned a=1", "info event=informed", "debug event=traced"];
            assert_eq!(events, all[..level]);
        }
    }
}
