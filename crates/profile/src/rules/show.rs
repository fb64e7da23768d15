//! Which frames a view shows. What is left out is folded into its caller, so that totals stay equal.

use crate::tables::profile::FrameKind;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Show {
    #[default]
    Both,
    Python,
    C,
}

impl Show {
    /// Marks are always shown: they say what is missing.
    pub fn shows(self, kind: FrameKind) -> bool {
        match (self, kind) {
            (Show::Both, _) | (_, FrameKind::Mark) => true,
            (Show::Python, kind) => kind == FrameKind::Python,
            (Show::C, kind) => kind != FrameKind::Python,
        }
    }
}
