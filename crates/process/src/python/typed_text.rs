//! The text of code that somebody typed and that is in no file: a notebook's cells, which IPython hands to `linecache`.
//! Owns: the shape of an entry in `linecache.cache`. Never: takes an entry that was read from a file. Keeps: I-06, I-07.
//! Sources: CPython 3.11 to 3.15, Lib/linecache.py (size, time, lines, name); IPython 8, core/compilerop.py (the time is None).

use genba_python::interpreter::objects;
use genba_python::memory::Fault;

use crate::python::objects::Objects;

const ENTRY_ITEMS: u64 = 4;
/// Nobody types a longer text, or a longer line. A list may have one long line ten thousand times.
const LINES_MAX: u64 = 10_000;
const LINE_CHARACTERS_MAX: u64 = 10_000;
const TEXT_BYTES_MAX: usize = 1 << 20;

impl Objects<'_> {
    /// The text of this name.
    ///
    /// # Errors
    /// `Fault`: there is none, or the program changes the table at this moment.
    pub fn typed_text(&self, filename: &str) -> Result<String, Fault> {
        let inside = objects::Objects { memory: self.memory, python: self.python };
        let cache = inside.global(self.main_interpreter()?, "linecache", "cache")?;
        let entry = self.tuple(inside.item(cache, filename)?, ENTRY_ITEMS + 1)?;
        let &[_, written, lines, _] = entry.as_slice() else { return Err(Fault) };
        if self.types.none != Some(written) {
            return Err(Fault);
        }
        let mut text = String::new();
        for line in self.list(lines, LINES_MAX)? {
            let (line, cut) = self.text(line, LINE_CHARACTERS_MAX)?;
            if cut > 0 || text.len() + line.len() > TEXT_BYTES_MAX {
                return Err(Fault);
            }
            text.push_str(&line);
            // Not all who write such entries keep the ends of lines.
            if !line.ends_with('\n') {
                text.push('\n');
            }
        }
        Ok(text)
    }
}
