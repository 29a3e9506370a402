//! Deadlines of calls: `grpc-timeout`.

use crate::wire::Status;
use std::time::Duration;
use thalweg_core::error::Code;

/// Parses `grpc-timeout`: digits and a unit.
pub fn timeout(header: &[u8]) -> Option<Duration> {
    parse(std::str::from_utf8(header).ok()?)
}

fn parse(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    let well_formed = (1..=8).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    let n: u64 = digits.parse().ok().filter(|_| well_formed)?;
    Some(match unit {
        "H" => Duration::from_secs(n * 3600),
        "M" => Duration::from_secs(n * 60),
        "S" => Duration::from_secs(n),
        "m" => Duration::from_millis(n),
        "u" => Duration::from_micros(n),
        "n" => Duration::from_nanos(n),
        _ => return None,
    })
}

/// Runs a call within its deadline. Dropping it cancels its step.
pub async fn within<T>(
    limit: Option<Duration>,
    call: impl Future<Output = Result<T, Status>>,
) -> Result<T, Status> {
    match limit {
        None => call.await,
        Some(limit) => tokio::time::timeout(limit, call).await.unwrap_or_else(|_| {
            Err(Status::new(Code::DeadlineExceeded, "the call did not end within the time it was given"))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timeouts_are_digits_and_a_unit() {
        for (text, nanos) in [
            ("30m", 30_000_000),
            ("1H", 3_600_000_000_000),
            ("99999999n", 99_999_999),
            ("2M", 120_000_000_000),
        ] {
            assert_eq!(parse(text), Some(Duration::from_nanos(nanos)), "{text}");
        }
        for bad in ["", "m", "30", "-1S", "+1S", "123456789S", "1.5S", "5\u{b5}", "5 S"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn every_unit_is_its_own() {
        let want = [("H", 7_200_000_000), ("M", 120_000_000), ("S", 2_000_000), ("m", 2000), ("u", 2)];
        for (unit, micros) in want {
            assert_eq!(timeout(format!("2{unit}").as_bytes()), Some(Duration::from_micros(micros)), "{unit}");
        }
        assert_eq!(timeout(b"2n"), Some(Duration::from_nanos(2)));
        assert_eq!(timeout(b"99999999H"), Some(Duration::from_secs(99_999_999 * 3600)));
        assert_eq!(timeout(b"2x"), None);
        assert_eq!(timeout(b"\xff\xff"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_is_answered_in_time_or_told_that_it_was_not() {
        let second = Duration::from_secs(1);
        let call = |takes| async move {
            tokio::time::sleep(takes).await;
            Ok(7)
        };
        assert_eq!(within(None, call(100 * second)).await.unwrap(), 7);
        assert_eq!(within(Some(5 * second), call(4 * second)).await.unwrap(), 7);
        let late = within(Some(5 * second), call(6 * second)).await.unwrap_err();
        assert_eq!(late.code(), Code::DeadlineExceeded);
    }
}
