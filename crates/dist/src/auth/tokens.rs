//! Bearer tokens, read from a file.

use super::Role;
use ring::digest::{Digest, SHA256, digest};
use std::path::Path;
use std::sync::Arc;
use subtle::ConstantTimeEq;
use thalweg_core::error::{Error, Result};
use thalweg_core::invalid;

/// The tokens of a server. A token is looked up by its digest, and compared with all in constant time: timing reveals nothing
/// about them, not even their length.
pub struct Tokens {
    known: Vec<Known>,
    /// The one with the strongest role, sent to other tasks.
    own: Arc<str>,
}

struct Known {
    digest: Digest,
    holder: (Arc<str>, Role),
}

/// Shorter ones can be guessed.
const MIN_LENGTH: usize = 16;
/// Header fields have limits.
const MAX_LENGTH: usize = 1024;
const MAX_TOKENS: usize = 10_000;

impl Tokens {
    /// Reads a file: `role:token` on each line. The default role is admin. Empty lines and
    /// those that begin with '#' are ignored.
    pub fn read(path: &Path) -> Result<Tokens> {
        let text = std::fs::read_to_string(path).map_err(Error::from);
        text.and_then(|text| Tokens::parse(&text)).map_err(|e| e.context(path.display()))
    }

    pub fn parse(text: &str) -> Result<Tokens> {
        let mut known: Vec<Known> = Vec::new();
        let mut own: Option<(Role, &str)> = None;
        for (i, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let number = i + 1;
            let (role, token) = role_and_token(line)
                .and_then(|found| check(found.1).map(|()| found))
                .map_err(|e| e.context(format_args!("line {number}")))?;
            let digest = digest(&SHA256, token.as_bytes());
            if known.iter().any(|k| k.digest.as_ref() == digest.as_ref()) {
                return Err(invalid!("line {number} has the token of an earlier line"));
            }
            if known.len() == MAX_TOKENS {
                return Err(invalid!("more than {MAX_TOKENS} tokens"));
            }
            let identity = format!("token of line {number}").into();
            known.push(Known { digest, holder: (identity, role) });
            if own.is_none_or(|(strongest, _)| role > strongest) {
                own = Some((role, token));
            }
        }
        match own {
            Some((_, own)) => Ok(Tokens { known, own: own.into() }),
            None => Err(invalid!("there is no token in it: write one on a line, such as admin:TOKEN")),
        }
    }

    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// Sent to other servers.
    pub fn own(&self) -> &Arc<str> {
        &self.own
    }

    /// The holder of the token in `authorization`; else why it is rejected.
    pub fn holder(
        &self,
        authorization: Option<&[u8]>,
    ) -> std::result::Result<(Arc<str>, Role), &'static str> {
        let said = authorization.ok_or("this server needs a token: send 'authorization: Bearer TOKEN'")?;
        let (scheme, token) = said.split_at_checked(BEARER.len()).ok_or(NOT_BEARER)?;
        if !scheme.eq_ignore_ascii_case(BEARER) {
            return Err(NOT_BEARER);
        }
        let shown = digest(&SHA256, token);
        let mut found = None;
        for known in &self.known {
            if known.digest.as_ref().ct_eq(shown.as_ref()).into() {
                found = Some(&known.holder);
            }
        }
        found.cloned().ok_or("the token is not one of this server's")
    }
}

const BEARER: &[u8] = b"Bearer ";
const NOT_BEARER: &str = "the authorization is not of the form 'Bearer TOKEN'";

/// A misspelt role must not become part of an admin token.
fn role_and_token(line: &str) -> Result<(Role, &str)> {
    let Some((name, token)) = line.split_once(':') else { return Ok((Role::Admin, line)) };
    let role = [Role::Run, Role::Cluster, Role::Admin].into_iter().find(|r| r.name() == name.trim());
    let role =
        role.ok_or_else(|| invalid!("what stands before the ':' is not a role: run, cluster or admin"))?;
    Ok((role, token.trim()))
}

fn check(token: &str) -> Result<()> {
    let length = token.len();
    if !(MIN_LENGTH..=MAX_LENGTH).contains(&length) {
        return Err(invalid!(
            "a token of {length} characters; it must have {MIN_LENGTH} to {MAX_LENGTH}, such as `openssl rand -hex 32` gives"
        ));
    }
    match token.bytes().all(|b| b.is_ascii_graphic()) {
        true => Ok(()),
        false => Err(invalid!("a token has printable ASCII characters only, and no spaces")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_gives_tokens_with_their_roles() {
        let text =
            "# ours\n\nrun: first-token-0123456\n  bare-token-0123456789 \ncluster:with:colons:0123456\n";
        let tokens = Tokens::parse(text).unwrap();
        let role = |said: &str| {
            tokens.holder(Some(said.as_bytes())).map(|(identity, role)| (role, identity.to_string()))
        };
        assert_eq!(role("Bearer first-token-0123456"), Ok((Role::Run, "token of line 3".into())));
        assert_eq!(role("bearer bare-token-0123456789"), Ok((Role::Admin, "token of line 4".into())));
        assert_eq!(role("Bearer with:colons:0123456").unwrap().0, Role::Cluster);
        assert_eq!(&**tokens.own(), "bare-token-0123456789");
        for wrong in [
            "",
            "Bearer",
            "Bearer ",
            "Basic first-token-0123456",
            "Bearer first-token-012345",
            "Bearer first-token-0123456 ",
        ] {
            assert!(role(wrong).is_err(), "{wrong}");
        }
        assert!(tokens.holder(None).is_err());
    }

    #[test]
    fn files_that_protect_nothing_are_refused() {
        let same = "run:first-token-0123456\nadmin:first-token-0123456";
        for bad in [
            "",
            "# nothing\n",
            "short",
            "run:",
            "amdin:token-0123456789",
            "admin:with a space 0123456789",
            same,
        ] {
            assert!(Tokens::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_first_of_the_strongest_tokens_is_shown_to_others() {
        let text = "run:first-token-0123456\nadmin:second-token-012345\nadmin:third-token-0123456\n";
        assert_eq!(&**Tokens::parse(text).unwrap().own(), "second-token-012345");
    }
}
