//! One piece of code with several rows in the tables: processes see its file as of different owners, one as the user's own code, another as
//! a library's. Owns: which rows are one place for a reader. Never: changes the tables: whose code a stack is rests on its own rows.

use foldhash::HashMap;

use crate::tables::locations::Location;
use crate::tables::profile::{FileIndex, FrameIndex, FunctionIndex, Home, Profile};
use crate::tables::source_text::Expression;

/// The first row of each, for the others. Empty where all processes see all files alike.
#[derive(Debug, Default)]
pub struct Twins {
    files: HashMap<FileIndex, FileIndex>,
    functions: HashMap<FunctionIndex, FunctionIndex>,
    frames: HashMap<FrameIndex, FrameIndex>,
}

impl Twins {
    pub fn of(profile: &Profile) -> Twins {
        let mut twins = Twins::default();
        let mut files: HashMap<(&str, u64), FileIndex> = HashMap::default();
        for (index, file) in profile.files.enumerate() {
            let first = *files.entry((file.path.as_str(), file.family)).or_insert(index);
            if first != index {
                twins.files.insert(index, first);
            }
        }
        if twins.files.is_empty() {
            return twins;
        }
        let mut functions: HashMap<(&str, FileIndex, u32, u32), FunctionIndex> = HashMap::default();
        for (index, function) in profile.functions.enumerate() {
            let Home::Python { file, first_line, table_bytes } = function.home else { continue };
            let key = (function.name.as_str(), twins.file(file), first_line, table_bytes);
            let first = *functions.entry(key).or_insert(index);
            if first != index {
                twins.functions.insert(index, first);
            }
        }
        let mut frames: HashMap<(FunctionIndex, Option<Location>, Option<&Expression>), FrameIndex> =
            HashMap::default();
        for (index, frame) in profile.frames.enumerate() {
            if !matches!(profile.functions[frame.function].home, Home::Python { .. }) {
                continue;
            }
            let key = (twins.function(frame.function), frame.location, frame.expression.as_ref());
            let first = *frames.entry(key).or_insert(index);
            if first != index {
                twins.frames.insert(index, first);
            }
        }
        twins
    }

    #[must_use]
    pub fn file(&self, file: FileIndex) -> FileIndex {
        self.files.get(&file).copied().unwrap_or(file)
    }

    #[must_use]
    pub fn function(&self, function: FunctionIndex) -> FunctionIndex {
        self.functions.get(&function).copied().unwrap_or(function)
    }

    #[must_use]
    pub fn frame(&self, frame: FrameIndex) -> FrameIndex {
        self.frames.get(&frame).copied().unwrap_or(frame)
    }
}
