//! The Content-Security-Policy that a server sends with the page: the page's own scripts run, no other one does.
//! Owns: the hashes of the scripts inside of a page. Never: makes a page.
//! The page carries a policy of its own, for when it is a file. A browser applies both, so what one of them forbids stays forbidden. It names
//! the script that lies in the page as it is, and those that this one unpacks (web/loader.ts).

use std::ops::Range;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::{BODY_END, PAGE};

const SCRIPT_BEGIN: &str = "<script>";
const SCRIPT_END: &str = "</script>";

/// How the page begins to say its own policy.
const OWN_BEGIN: &str = "<meta http-equiv=\"Content-Security-Policy\"";
const OWN_END: &str = ">\n";

/// As the header's value, for the page with graphs of cycles and without. Style attributes need 'unsafe-inline'; no request is allowed.
#[must_use]
pub fn policy() -> &'static str {
    static POLICY: LazyLock<String> = LazyLock::new(|| {
        let scripts = own_scripts(PAGE);
        format!(
            "default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        )
    });
    &POLICY
}

/// What the script of a page needs that asks for news beside itself, as `genba view` has it. A page without this hears the server's events.
#[derive(Clone, Copy, Debug)]
pub struct Beside<'s> {
    /// Of the files that the page was made of, in letters, digits and `-`: another one is news.
    pub state: &'s str,
    /// How long the page took.
    pub made_ms: u64,
}

/// How a page is made one that follows its recording: with one more script at its end, which may ask the server that the page is from. The page's
/// own policy is taken out, because it would forbid that. Whoever sends the parts one behind the other copies none of the page.
#[derive(Clone, Debug)]
pub struct Following {
    /// Of the page, in bytes: what comes before the script.
    pub before: [Range<usize>; 2],
    pub script: String,
    /// What comes behind it.
    pub behind: Range<usize>,
    /// To send with it.
    pub policy: String,
}

/// A page that follows its recording, as a whole, and the policy to send with it.
#[must_use]
pub fn followed(page: &str, script: &str, beside: Option<Beside<'_>>) -> (String, String) {
    let Following { before, script, behind, policy } = following(page, script, beside);
    let [head, middle] = before.map(|range| &page[range]);
    (format!("{head}{middle}{script}{}", &page[behind]), policy)
}

#[must_use]
pub fn following(page: &str, script: &str, beside: Option<Beside<'_>>) -> Following {
    // An element with a type is no script; web/server/api/news.ts reads it.
    let told = beside.map_or_else(String::new, |Beside { state, made_ms }| {
        format!("<script type=\"text/plain\" data-state=\"{state}\" data-made-ms=\"{made_ms}\">{SCRIPT_END}\n")
    });
    let element = format!("{told}{SCRIPT_BEGIN}{script}{SCRIPT_END}\n");
    let hashes = script_hashes(&element).join(" ");
    let policy = policy().replacen("script-src ", &format!("connect-src 'self'; script-src {hashes} "), 1);
    // The page's head comes before its numbers, and its end behind them.
    let own = page.find(OWN_BEGIN).unwrap_or(0);
    let own_end = page[own..].find(OWN_END).filter(|_| own > 0).map_or(own, |end| own + end + OWN_END.len());
    let body_end = page.rfind(BODY_END).unwrap_or(page.len()).max(own_end);
    Following { before: [0..own, own_end..body_end], script: element, behind: body_end..page.len(), policy }
}

/// What a page's own policy allows to run, as web/build.mjs put it there; nothing where a page does not say it.
fn own_scripts(page: &str) -> &str {
    let said = page.split_once("script-src ").and_then(|(_, rest)| rest.split_once(';'));
    said.map_or("'none'", |(scripts, _)| scripts)
}

/// `'sha256-…'` for each script element of a page that has no attribute. An element with a type, such as the page's numbers, is no script,
/// and one with a source is not allowed here.
#[must_use]
pub fn script_hashes(page: &str) -> Vec<String> {
    let scripts = page.split(SCRIPT_BEGIN).skip(1).filter_map(|rest| Some(rest.split_once(SCRIPT_END)?.0));
    scripts.map(hash).collect()
}

fn hash(script: &str) -> String {
    format!("'sha256-{}'", STANDARD.encode(Sha256::digest(script)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::code_of;
    use crate::{BENCH, CYCLES, GRAPHS};

    #[test]
    fn a_hash_is_of_the_bytes_between_the_tags() {
        let page = "<script type=\"text/plain\">numbers</script><script>alert('Hello, world.');</script>";
        // The example of the specification, CSP Level 3, 'sha256'.
        assert_eq!(script_hashes(page), ["'sha256-qznLcsROx4GACP2dm0UCKCzCG+HiZ1guq6ZZDob/Tng='"]);
    }

    #[test]
    fn a_page_that_follows_has_one_policy_and_one_more_script() {
        let page = crate::page_around("{}", crate::HEAD).expect("a page");
        let (followed, policy) = followed(&page, "location.reload()", None);
        assert!(page.contains(OWN_BEGIN) && !followed.contains("Content-Security-Policy"));
        assert!(followed.starts_with(crate::HEAD) && followed.ends_with("</body>\n</html>\n"), "the page's end");
        let hashes = script_hashes(&followed);
        assert_eq!(hashes.len(), 2);
        assert!(policy.contains("connect-src 'self';") && hashes.iter().all(|hash| policy.contains(hash)), "{policy}");
    }

    #[test]
    fn a_page_that_asks_beside_itself_holds_its_state_and_no_further_script() {
        let page = crate::page_around("{}", crate::HEAD).expect("a page");
        let (followed, policy) = followed(&page, crate::FOLLOW, Some(Beside { state: "0a1b", made_ms: 340 }));
        assert!(
            followed.contains(" data-state=\"0a1b\" data-made-ms=\"340\"></script>\n<script>"),
            "the state's element"
        );
        let hashes = script_hashes(&followed);
        assert!(hashes.len() == 2 && hashes.iter().all(|hash| policy.contains(hash)), "{policy}");
        for asking in ["src=\"", "@import", "url(", "import("] {
            assert!(!followed.contains(asking), "the page holds `{asking}`");
        }
    }

    #[test]
    fn a_page_with_graphs_has_one_more_script_which_the_policy_allows() {
        let page = crate::page_around("{}", crate::HEAD).expect("a page");
        let graphs = crate::with_cycles(&page, "{\"notes\":[\"</body><script>alert(1)</script>\"]}").expect("a page");
        let hashes = script_hashes(&graphs);
        assert_eq!(hashes.len(), 2);
        assert!(hashes.iter().all(|hash| policy().contains(hash)), "{}", policy());
        assert!(graphs.ends_with("</script>\n</body>\n</html>\n") && graphs.matches(BODY_END).count() == 1);
        let (followed, policy) = followed(&graphs, crate::FOLLOW, None);
        let hashes = script_hashes(&followed);
        assert!(hashes.len() == 3 && hashes.iter().all(|hash| policy.contains(hash)), "{policy}");
    }

    #[test]
    fn a_page_allows_the_script_in_it_and_those_that_this_unpacks_and_no_other() {
        let loader = script_hashes(PAGE);
        assert_eq!(loader.len(), 1);
        assert_eq!(script_hashes(GRAPHS), loader);
        for (page, holders) in [(PAGE, vec![PAGE, GRAPHS]), (BENCH, vec![BENCH]), (CYCLES, vec![CYCLES])] {
            let mut allowed = loader.clone();
            allowed.extend(holders.iter().map(|holder| hash(&code_of(holder).script)));
            assert_eq!(own_scripts(page), allowed.join(" "));
        }
        assert!(policy().contains(&format!("; script-src {}; ", own_scripts(PAGE))), "{}", policy());
        assert_eq!(own_scripts("<html></html>"), "'none'");
    }

    #[test]
    fn the_page_has_one_script_and_the_numbers_change_nothing() {
        let hashes = script_hashes(PAGE);
        assert_eq!(hashes.len(), 1);
        let page = crate::page_around("{\"title\":\"<script>alert(1)</script>\"}", crate::HEAD).expect("a page");
        assert_eq!(script_hashes(&page), hashes);
        assert!(policy().contains(&hashes[0]), "{}", policy());
        let script = policy().split("; ").find(|directive| directive.starts_with("script-src")).expect("scripts");
        assert!(!script.contains("'unsafe") && !script.contains("blob:"), "{}", policy());
    }
}
