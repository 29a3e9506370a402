//! What to do with malformed text: the attrs `errors`, `replacement_char` and `replace_control_characters`.

use super::charset::Charset;
use crate::prelude::*;

#[derive(Clone, Copy, PartialEq)]
pub enum OnError {
    Strict,
    Replace,
    Ignore,
}

#[derive(Clone, Copy)]
pub struct ErrorOptions {
    pub on_error: OnError,
    pub replacement: u32,
    pub replace_controls: bool,
}

impl ErrorOptions {
    pub fn of(attrs: &Attrs) -> Result<ErrorOptions> {
        let replacement = u32::try_from(attrs.int("replacement_char")?).ok().filter(|c| *c <= 0x10FFFF);
        Ok(ErrorOptions {
            on_error: match attrs.str("errors")? {
                "strict" => OnError::Strict,
                "ignore" => OnError::Ignore,
                _ => OnError::Replace,
            },
            replacement: replacement
                .ok_or_else(|| invalid!("replacement_char out of unicode codepoint range"))?,
            replace_controls: attrs.get("replace_control_characters").is_some()
                && attrs.bool("replace_control_characters")?,
        })
    }

    /// The code points of a string and their offsets, after replacements.
    pub fn decode(
        &self,
        charset: Charset,
        bytes: &[u8],
        mut each: impl FnMut(u32, usize) -> Result<()>,
    ) -> Result<()> {
        charset.decode(bytes, &mut |code, at| match code {
            Some(code) if !(self.replace_controls && code <= 0x1F) => each(code, at),
            None if self.on_error == OnError::Strict => Err(invalid!("Invalid formatting on input string")),
            _ if self.on_error == OnError::Ignore => Ok(()),
            _ => each(self.replacement, at),
        })
    }
}
