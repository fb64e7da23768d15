//! How far the interpreter's layout is believed (I-10).
//! Owns: after how many misfits it is believed no longer. Never: reads memory.

/// So many frames in a row that are none by the layout, and the layout is wrong. The thread runs while its frame is looked at and
/// may leave it at any moment, so one alone says nothing.
const MISFITS_MAX: u32 = 64;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LayoutTrust {
    /// No frame was caught yet; `misfits` were looked at that are none by this layout.
    Unchecked {
        misfits: u32,
    },
    Checked,
    Wrong,
}

impl Default for LayoutTrust {
    fn default() -> LayoutTrust {
        LayoutTrust::Unchecked { misfits: 0 }
    }
}

impl LayoutTrust {
    pub const fn is_unchecked(self) -> bool {
        matches!(self, LayoutTrust::Unchecked { .. })
    }

    /// After one more look at a frame: whether it is one, or `None`, nobody was in one.
    pub const fn after(self, fits: Option<bool>) -> LayoutTrust {
        match (self, fits) {
            (LayoutTrust::Unchecked { .. }, Some(true)) => LayoutTrust::Checked,
            (LayoutTrust::Unchecked { misfits: MISFITS_MAX.. }, Some(false)) => LayoutTrust::Wrong,
            (LayoutTrust::Unchecked { misfits }, Some(false)) => LayoutTrust::Unchecked { misfits: misfits + 1 },
            (known, _) => known,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{LayoutTrust, MISFITS_MAX};

    fn after(looks: impl IntoIterator<Item = Option<bool>>) -> LayoutTrust {
        looks.into_iter().fold(LayoutTrust::default(), LayoutTrust::after)
    }

    #[test]
    fn a_frame_that_was_left_while_it_was_looked_at_condemns_nothing() {
        assert_eq!(after([None, Some(false), None, Some(false), Some(true)]), LayoutTrust::Checked);
        assert_eq!(after([Some(true), Some(false)]), LayoutTrust::Checked);
    }

    #[test]
    fn a_layout_by_which_nothing_is_a_frame_is_wrong() {
        let misfits = usize::try_from(MISFITS_MAX).unwrap();
        assert!(after(vec![Some(false); misfits]).is_unchecked());
        assert_eq!(after(vec![Some(false); misfits + 1]), LayoutTrust::Wrong);
    }
}
