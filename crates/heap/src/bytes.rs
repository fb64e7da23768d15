//! Words and texts as bytes, on their way out and back in.
//! Owns: how each is written. Never: believes a length (the reader).

/// Takes bytes. False: they could not be written.
pub trait Sink {
    fn put(&mut self, bytes: &[u8]) -> bool;
}

pub fn put_word(sink: &mut impl Sink, word: u64) -> bool {
    sink.put(&word.to_le_bytes())
}

pub fn put_text(sink: &mut impl Sink, text: &[u8]) -> bool {
    sink.put(&(text.len() as u32).to_le_bytes()) && sink.put(text)
}

#[cfg(any(test, feature = "std"))]
pub use reading::Rest;

#[cfg(any(test, feature = "std"))]
mod reading {
    use std::borrow::ToOwned;
    use std::string::String;

    pub struct Rest<'a>(pub &'a [u8]);

    impl<'a> Rest<'a> {
        pub fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
            let (taken, rest) = self.0.split_at_checked(bytes)?;
            self.0 = rest;
            Some(taken)
        }

        pub fn byte(&mut self) -> Option<u8> {
            self.take(1)?.first().copied()
        }

        pub fn word(&mut self) -> Option<u64> {
            Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
        }

        pub fn text(&mut self) -> Option<String> {
            let len = u32::from_le_bytes(self.take(4)?.try_into().ok()?);
            Some(String::from_utf8_lossy(self.take(usize::try_from(len).ok()?)?).into_owned().to_owned())
        }
    }
}
