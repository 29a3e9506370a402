//! Messages as they lie on the wire: fields are walked where they are, and nothing is built from them.

/// Bytes that are no message.
#[derive(Clone, Copy, Debug)]
pub struct Malformed;

pub type Wire<T> = std::result::Result<T, Malformed>;

/// The contents of a field.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "no message here has fields of all kinds")]
pub enum Field<'a> {
    Varint(u64),
    Fixed64([u8; 8]),
    Fixed32([u8; 4]),
    /// A string, bytes, a message, or packed numbers.
    Bytes(&'a [u8]),
    /// A group, without its end.
    Group(&'a [u8]),
}

/// The fields of a message, in order.
#[derive(Clone, Copy)]
pub struct Fields<'a>(pub &'a [u8]);

impl<'a> Fields<'a> {
    pub fn next(&mut self) -> Wire<Option<(u32, Field<'a>)>> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let tag = u32::try_from(self.varint()?).map_err(|_| Malformed)?;
        if tag >> 3 == 0 {
            return Err(Malformed);
        }
        Ok(Some((tag >> 3, self.contents(tag)?)))
    }

    #[inline]
    pub fn varint(&mut self) -> Wire<u64> {
        match self.0 {
            [b, rest @ ..] if *b < 0x80 => {
                self.0 = rest;
                Ok(u64::from(*b))
            }
            _ => thalweg_io::varint::take(&mut self.0).ok_or(Malformed),
        }
    }

    fn contents(&mut self, tag: u32) -> Wire<Field<'a>> {
        match tag & 7 {
            0 => self.varint().map(Field::Varint),
            1 => self.array().map(Field::Fixed64),
            2 => {
                let n = usize::try_from(self.varint()?).map_err(|_| Malformed)?;
                let (bytes, rest) = self.0.split_at_checked(n).ok_or(Malformed)?;
                self.0 = rest;
                Ok(Field::Bytes(bytes))
            }
            3 => self.group(tag >> 3).map(Field::Group),
            5 => self.array().map(Field::Fixed32),
            _ => Err(Malformed),
        }
    }

    fn array<const N: usize>(&mut self) -> Wire<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk::<N>().ok_or(Malformed)?;
        self.0 = rest;
        Ok(*bytes)
    }

    /// The group that has just begun. Groups inside it are counted, not recursed into.
    fn group(&mut self, number: u32) -> Wire<&'a [u8]> {
        let start = self.0;
        let mut depth = 1u32;
        loop {
            let at = self.0;
            let tag = u32::try_from(self.varint()?).map_err(|_| Malformed)?;
            match tag & 7 {
                3 => depth += 1,
                4 => depth -= 1,
                _ => drop(self.contents(tag)?),
            }
            if depth == 0 {
                return if tag >> 3 == number {
                    Ok(&start[..start.len() - at.len()])
                } else {
                    Err(Malformed)
                };
            }
        }
    }
}

/// Reads each varint of a packed list.
#[inline]
pub fn for_varints(bytes: &[u8], mut each: impl FnMut(u64)) -> Wire<()> {
    let mut rest = Fields(bytes);
    while !rest.0.is_empty() {
        each(rest.varint()?);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_end_where_their_number_does() {
        // Group 1 with group 2 in it, then field 3.
        let bytes = [0x0b, 0x13, 0x08, 5, 0x14, 0x0c, 0x18, 7];
        let mut fields = Fields(&bytes);
        assert!(matches!(fields.next(), Ok(Some((1, Field::Group([0x13, 8, 5, 0x14]))))));
        assert!(matches!(fields.next(), Ok(Some((3, Field::Varint(7))))));
        assert!(matches!(fields.next(), Ok(None)));
        assert!(Fields(&bytes[..5]).next().is_err());
        assert!(Fields(&[0x0b, 0x14]).next().is_err());
        assert!(Fields(&[0x00, 0x00]).next().is_err());
        assert!(Fields(&[0x0a, 0x05, 1]).next().is_err());
    }
}
