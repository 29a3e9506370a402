//! The header fields that calls need, validated (RFC 9113, 8).

use bytes::Bytes;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// Of a request.
    pub path: Option<Bytes>,
    pub method: Option<Bytes>,
    pub timeout: Option<Bytes>,
    pub authorization: Option<Bytes>,
    pub content_type: Option<Bytes>,
    pub content_length: Option<u64>,
    /// Of a response, the second and third often in trailers.
    pub http_status: Option<Bytes>,
    pub grpc_status: Option<Bytes>,
    pub grpc_message: Option<Bytes>,
    /// Pseudo-header fields seen, and whether a regular field was.
    pseudo: u8,
    regular: bool,
    size: usize,
    malformed: Option<&'static str>,
}

const METHOD: u8 = 1;
const SCHEME: u8 = 2;
const PATH: u8 = 4;
const AUTHORITY: u8 = 8;
const STATUS: u8 = 16;

/// Limit of a message's header fields, counted as SETTINGS_MAX_HEADER_LIST_SIZE: name, value and 32 for each.
pub const MAX_HEADERS: usize = 16 << 10;

impl Head {
    /// Adds a field. An error is reported later: the block is decoded to its end, to keep the dynamic table in step.
    pub(super) fn take(&mut self, name: &Bytes, value: &Bytes) {
        self.size = self.size.saturating_add(name.len() + value.len() + super::ENTRY);
        if self.size > MAX_HEADERS {
            return self.refuse("more than 16 KiB of header fields");
        }
        match name.first() {
            Some(b':') => self.take_pseudo(name, value),
            _ => self.take_regular(name, value),
        }
    }

    fn take_pseudo(&mut self, name: &Bytes, value: &Bytes) {
        let (bit, place) = match &name[..] {
            b":method" => (METHOD, Some(&mut self.method)),
            b":scheme" => (SCHEME, None),
            b":path" => (PATH, Some(&mut self.path)),
            b":authority" => (AUTHORITY, None),
            b":status" => (STATUS, Some(&mut self.http_status)),
            _ => return self.refuse("a pseudo-header field that there is not"),
        };
        if let Some(place) = place {
            *place = Some(value.clone());
        }
        if self.regular {
            return self.refuse("a pseudo-header field after other fields");
        }
        if self.pseudo & bit != 0 {
            return self.refuse("a pseudo-header field that comes twice");
        }
        if bit == PATH && value.is_empty() {
            self.refuse("an empty :path");
        }
        self.pseudo |= bit;
    }

    fn take_regular(&mut self, name: &Bytes, value: &Bytes) {
        self.regular = true;
        match &name[..] {
            b"authorization" => self.authorization = Some(value.clone()),
            b"grpc-timeout" => self.timeout = Some(value.clone()),
            b"content-type" => self.content_type = Some(value.clone()),
            b"grpc-status" => self.grpc_status = Some(value.clone()),
            b"grpc-message" => self.grpc_message = Some(value.clone()),
            b"content-length" => match std::str::from_utf8(value).ok().and_then(|v| v.parse().ok()) {
                Some(length) if self.content_length.is_none_or(|l| l == length) => {
                    self.content_length = Some(length);
                }
                _ => self.refuse("a content-length that is no number, or another"),
            },
            b"te" if value != "trailers" => self.refuse("a field TE other than trailers"),
            b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding" | b"upgrade" => {
                self.refuse("a field that is about the connection")
            }
            other if !other.iter().all(|b| is_name(*b)) || other.is_empty() => {
                self.refuse("a field name with signs that it may not have")
            }
            _ => {}
        }
        if value.iter().any(|b| matches!(b, 0 | b'\r' | b'\n')) {
            self.refuse("a field value with a line end in it");
        }
    }

    fn refuse(&mut self, why: &'static str) {
        self.malformed.get_or_insert(why);
    }

    /// Adds trailers.
    pub fn add(&mut self, later: Head) {
        self.http_status = later.http_status.or(self.http_status.take());
        self.grpc_status = later.grpc_status.or(self.grpc_status.take());
        self.grpc_message = later.grpc_message.or(self.grpc_message.take());
    }

    /// Why it is malformed as a request.
    pub fn request_fault(&self) -> Option<&'static str> {
        match self.pseudo {
            _ if self.malformed.is_some() => self.malformed,
            p if p & STATUS != 0 => Some("a request with a :status"),
            p if p & (METHOD | SCHEME | PATH) != METHOD | SCHEME | PATH => {
                Some("a request without :method, :scheme or :path")
            }
            _ => None,
        }
    }

    /// Why it is malformed as trailers.
    pub fn trailers_fault(&self) -> Option<&'static str> {
        match self.pseudo {
            0 => self.malformed,
            _ => Some("pseudo-header fields in trailers"),
        }
    }
}

/// Characters of field names: RFC 9110's tokens, in lower case.
fn is_name(b: u8) -> bool {
    matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'!' | b'#'..=b'\'' | b'*' | b'+' | b'-' | b'.' | b'^'..=b'`' | b'|' | b'~')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(fields: &[(&'static str, &'static str)]) -> Head {
        let mut head = Head::default();
        for (name, value) in fields {
            head.take(&Bytes::from_static(name.as_bytes()), &Bytes::from_static(value.as_bytes()));
        }
        head
    }

    const GOOD: [(&str, &str); 3] = [(":method", "POST"), (":scheme", "http"), (":path", "/a/B")];

    /// RFC 9113, 8.2 and 8.3.
    #[test]
    fn what_may_not_stand_in_a_request_is_found() {
        assert_eq!(head(&GOOD).request_fault(), None);
        let more = [(":authority", "x"), ("te", "trailers"), ("content-length", "7"), ("x-y_z", "A b")];
        let good = head(&[&GOOD[..], &more].concat());
        assert_eq!((good.request_fault(), good.content_length), (None, Some(7)));
        for missing in GOOD {
            let rest: Vec<_> = GOOD.into_iter().filter(|f| *f != missing).collect();
            assert!(head(&rest).request_fault().is_some(), "without {}", missing.0);
        }
        for bad in [
            (":method", "POST"),
            (":scheme", "http"),
            (":path", "/a"),
            (":status", "200"),
            (":other", "1"),
            ("Upper", "1"),
            ("a b", "1"),
            ("", "1"),
            ("a", "1\r\nb: 2"),
            ("te", "gzip"),
            ("connection", "close"),
            ("transfer-encoding", "chunked"),
            ("content-length", "-1"),
        ] {
            assert!(head(&[&GOOD[..], &[bad]].concat()).request_fault().is_some(), "{bad:?}");
        }
        assert!(head(&[&GOOD[..2], &[("a", "b"), (":path", "/a")]].concat()).request_fault().is_some());
        assert!(head(&[&GOOD[..2], &[(":path", "")]].concat()).request_fault().is_some());
        let lengths = [("content-length", "7"), ("content-length", "8")];
        assert!(head(&[&GOOD[..], &lengths].concat()).request_fault().is_some());
    }

    #[test]
    fn trailers_have_no_pseudo_fields() {
        assert_eq!(head(&[("grpc-status", "0")]).trailers_fault(), None);
        assert!(head(&[(":path", "/")]).trailers_fault().is_some());
        assert!(head(&[("A", "0")]).trailers_fault().is_some());
    }

    #[test]
    fn fields_are_counted_as_the_setting_counts_them() {
        let long: &'static str = "x".repeat(MAX_HEADERS).leak();
        assert!(head(&[&GOOD[..], &[("a", long)]].concat()).request_fault().is_some());
        let fits: &'static str = &long[..MAX_HEADERS - 3 * 32 - 33 - 7 - 4 - 7 - 4 - 5 - 4];
        assert_eq!(head(&[&GOOD[..], &[("a", fits)]].concat()).request_fault(), None);
    }

    #[test]
    fn what_a_call_needs_is_kept() {
        let text =
            |field: &Option<Bytes>| String::from_utf8(field.as_deref().unwrap_or_default().to_vec()).unwrap();
        let request = head(&[
            (":method", "POST"),
            (":path", "/a/B"),
            ("grpc-timeout", "3S"),
            ("authorization", "Bearer x"),
            ("content-type", "application/grpc"),
        ]);
        let kept =
            [&request.method, &request.path, &request.timeout, &request.authorization, &request.content_type];
        assert_eq!(kept.map(text), ["POST", "/a/B", "3S", "Bearer x", "application/grpc"]);
        let mut response = head(&[(":status", "200"), ("grpc-message", "early")]);
        response.add(head(&[("grpc-status", "5"), ("grpc-message", "late")]));
        response.add(head(&[("other", "1")]));
        let kept = [&response.http_status, &response.grpc_status, &response.grpc_message];
        assert_eq!(kept.map(text), ["200", "5", "late"]);
    }

    #[test]
    fn the_same_length_twice_is_one_length_and_others_are_none() {
        let told = |lengths: &[&'static str]| {
            let fields: Vec<_> = lengths.iter().map(|l| ("content-length", *l)).collect();
            head(&[&GOOD[..], &fields].concat())
        };
        assert_eq!((told(&["7", "7"]).request_fault(), told(&["7", "7"]).content_length), (None, Some(7)));
        assert!(told(&["7", "8", "8"]).request_fault().is_some());
        assert!(told(&[""]).request_fault().is_some() && told(&["7 "]).request_fault().is_some());
    }

    #[test]
    fn the_first_thing_that_is_wrong_is_what_is_told() {
        let wrong = head(&[&GOOD[..], &[("connection", "close"), ("Upper", "1")]].concat());
        assert_eq!(wrong.request_fault(), Some("a field that is about the connection"));
        let status = head(&[&GOOD[..], &[(":status", "200")]].concat());
        assert_eq!(status.request_fault(), Some("a request with a :status"));
        let fault = head(&[(":authority", "x")]).request_fault();
        assert_eq!(fault, Some("a request without :method, :scheme or :path"));
        for name in ["connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"] {
            assert!(head(&[(name, "1")]).trailers_fault().is_some(), "{name}");
        }
    }

    #[test]
    fn field_names_have_the_signs_of_tokens() {
        for byte in 0..128u8 {
            let token = byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
            assert_eq!(is_name(byte), token && !byte.is_ascii_uppercase(), "{:?}", byte as char);
        }
        for value in ["a\0b", "a\rb", "a\nb"] {
            assert!(head(&[("a", value)]).trailers_fault().is_some(), "{value:?}");
        }
        assert!(head(&[("a", "a\tb \u{e9}")]).trailers_fault().is_none());
    }
}
