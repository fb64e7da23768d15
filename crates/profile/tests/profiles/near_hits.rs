//! The sources of a page: the user's own files as they are stored, and of all other files the lines around what ran.

use crate::notation;
use genba_profile::build::{Additions, profile};
use genba_profile::near_hits::keep_near_hits;

#[test]
fn a_librarys_text_is_kept_near_what_ran_and_the_users_own_is_whole() {
    let lines: String = (1..=12).map(|line| format!("|line {line}\n")).collect();
    let recording = format!(
        "
        process 7 3.13.0 cwd=/app executable=/usr/bin/python3.13
        main@app.py:2 > loads@/usr/lib/python3.13/json.py:8 x3
        source /app/app.py
        {lines}
        source /usr/lib/python3.13/json.py
        {lines}
        source /usr/lib/python3.13/unseen.py
        {lines}
        "
    );
    let mut profile = profile(&notation::recording(&recording), &Additions::default());
    keep_near_hits(&mut profile, 2);
    let kept = |path: &str| -> Vec<u32> {
        let source = profile.sources.get(path).expect("a stored source");
        assert_eq!(source.line_count, 12, "{path}");
        (1..=12).filter(|line| source.line(*line).is_some()).collect()
    };
    assert_eq!(kept("/app/app.py"), (1..=12).collect::<Vec<u32>>());
    // The function begins in line 1.
    assert_eq!(kept("/usr/lib/python3.13/json.py"), [1, 2, 3, 6, 7, 8, 9, 10]);
    assert_eq!(kept("/usr/lib/python3.13/unseen.py"), [0; 0]);
}
