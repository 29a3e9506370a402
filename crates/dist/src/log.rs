//! Structured logs: one line for each event, on standard error; `key=value` pairs or JSON.

use std::fmt::{Display, Write};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use thalweg_core::error::Result;
use thalweg_core::invalid;

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

const LEVELS: [(&str, Level); 4] =
    [("off", Level::Off), ("warn", Level::Warn), ("info", Level::Info), ("debug", Level::Debug)];

/// The part of a server that an event comes from. Each can have a level of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Connections.
    Net,
    /// Rejected calls.
    Auth,
    /// Links to other tasks.
    Cluster,
    /// Sessions.
    Master,
    /// Parts of steps, for other tasks' sessions.
    Worker,
}

const PARTS: [(&str, Part); 5] = [
    ("net", Part::Net),
    ("auth", Part::Auth),
    ("cluster", Part::Cluster),
    ("master", Part::Master),
    ("worker", Part::Worker),
];

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// `time=2026-01-31T09:30:00.000000Z level=info event=ready address=127.0.0.1:2222`
    #[default]
    Text,
    /// An object for each line; all values are strings.
    Json,
}

/// The log of a server.
#[derive(Clone, Copy, Debug, Default)]
pub struct Log {
    level: Level,
    /// In the order of [`PARTS`].
    parts: [Level; PARTS.len()],
    format: Format,
}

impl Log {
    /// All parts at one level.
    pub fn at(level: Level) -> Log {
        Log { level, parts: [level; PARTS.len()], format: Format::Text }
    }

    /// `info`, or with levels of parts: `warn,net=debug,auth=off`.
    pub fn parse(spec: &str) -> Result<Log> {
        let level = |name: &str| {
            let found = LEVELS.iter().find(|(n, _)| *n == name).map(|(_, level)| *level);
            found.ok_or_else(|| invalid!("'{name}' is no log level; known are off, warn, info, debug"))
        };
        let plain = spec.split(',').find(|item| !item.contains('='));
        let mut log = Log::at(plain.map_or(Ok(Level::Off), |name| level(name.trim()))?);
        for (part, name) in spec.split(',').filter_map(|item| item.split_once('=')) {
            let (part, level) = (part.trim(), level(name.trim())?);
            let own = PARTS.iter().position(|(n, _)| *n == part).and_then(|at| log.parts.get_mut(at));
            let own = own.ok_or_else(|| {
                invalid!("'{part}' is no part of a server; known are net, auth, cluster, master, worker")
            })?;
            *own = level;
        }
        Ok(log)
    }

    pub fn format(self, format: Format) -> Log {
        Log { format, ..self }
    }

    /// The log of a part, at its level.
    pub fn of(self, part: Part) -> Log {
        let own = PARTS.iter().position(|(_, p)| *p == part).and_then(|at| self.parts.get(at));
        Log { level: own.copied().unwrap_or(self.level), ..self }
    }

    /// Whether warnings are written: what is only looked for to be told of is not looked for otherwise.
    pub fn warns(&self) -> bool {
        self.level >= Level::Warn
    }

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
        let now = rfc3339(SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default());
        let level = LEVELS.iter().find(|(_, l)| *l == level).map_or("warn", |(name, _)| name);
        match self.format {
            Format::Text => eprintln!("{}", text(&now, level, event, pairs)),
            Format::Json => eprintln!("{}", json(&now, level, event, pairs)),
        }
    }
}

fn text(now: &str, level: &str, event: &str, pairs: &[(&str, &dyn Display)]) -> String {
    let mut line = format!("time={now} level={level} event={event}");
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

fn json(now: &str, level: &str, event: &str, pairs: &[(&str, &dyn Display)]) -> String {
    let mut line = format!(r#"{{"time":"{now}","level":"{level}","event":"{event}""#);
    for (key, value) in pairs {
        let _ = write!(line, r#","{key}":{}"#, serde_json::Value::from(value.to_string()));
    }
    line.push('}');
    line
}

/// `2026-01-31T09:30:00.000000Z`.
fn rfc3339(since_1970: Duration) -> String {
    let (days, seconds) = (since_1970.as_secs() / 86_400, since_1970.as_secs() % 86_400);
    let (year, month, day) = date(days);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let micros = since_1970.subsec_micros();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z")
}

/// Year, month and day, so many days after the first of January 1970.
fn date(days: u64) -> (u64, u64, u64) {
    // Years are counted from March, so that a leap day is the last of its year; 400 of them always have as many days.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + next, month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-01-31T09:30:00.000000Z";

    #[test]
    fn a_line_is_one_line() {
        let pairs: &[(&str, &dyn Display)] = &[("session", &"ab"), ("error", &"x = 1\ny")];
        assert_eq!(
            text(NOW, "info", "closed", pairs),
            format!(r#"time={NOW} level=info event=closed session=ab error="x = 1\ny""#)
        );
        assert_eq!(
            json(NOW, "info", "closed", pairs),
            format!(
                r#"{{"time":"{NOW}","level":"info","event":"closed","session":"ab","error":"x = 1\ny"}}"#
            )
        );
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        let at = |secs: u64, micros: u32| rfc3339(Duration::new(secs, micros * 1000));
        assert_eq!(at(0, 0), "1970-01-01T00:00:00.000000Z");
        assert_eq!(at(951_782_399, 999_999), "2000-02-28T23:59:59.999999Z");
        assert_eq!(at(951_782_400, 1), "2000-02-29T00:00:00.000001Z");
        assert_eq!(at(1_769_851_800, 0), NOW);
        assert_eq!(at(4_107_542_400, 0), "2100-03-01T00:00:00.000000Z");
    }

    #[test]
    fn parts_have_levels_of_their_own() {
        let log = Log::parse("warn, net=debug,auth=off").unwrap();
        let levels = [Part::Net, Part::Auth, Part::Master].map(|part| log.of(part).level);
        assert_eq!(levels, [Level::Debug, Level::Off, Level::Warn]);
        assert_eq!(Log::parse("net=info").unwrap().of(Part::Worker).level, Level::Off);
        for bad in ["loud", "net=loud", "disk=info", ""] {
            assert!(Log::parse(bad).is_err(), "{bad}");
        }
    }

    const TELL: &str = "THALWEG_TEST_TELL";

    /// Runs itself as a child process and checks its events.
    #[test]
    fn a_log_tells_what_its_level_asks_for_and_no_more() {
        if let Some(level) = std::env::var(TELL).ok().and_then(|n| n.parse::<usize>().ok()) {
            let log = Log::at(LEVELS[level].1);
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
