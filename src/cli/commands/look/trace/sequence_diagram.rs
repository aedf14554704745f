//! An exchange as a Mermaid sequence diagram. The words of others are escaped: no text of a message is taken for Mermaid or HTML.

use crate::domain::text::visible_letters::beginning;
use crate::view::{Trace, TraceMessage, TraceStep, no_text};

/// Characters of a text in an arrow: a diagram is to be taken in at a glance.
const TEXT_CHARS: usize = 60;

/// Receipts of a message that a note lists.
const SHOWN_RECEIPTS: usize = 4;

/// Returns the lines of the diagram.
pub(super) fn lines(trace: &Trace) -> Vec<String> {
    let mut cast = Cast::default();
    let mut parts: Vec<_> =
        trace.nodes.iter().map(|one| (one.seq, of_message(one, &mut cast))).collect();
    let first = cast.names.first().cloned().unwrap_or_else(|| "bridge".to_owned());
    parts.extend(trace.steps.iter().map(|one| (one.seq, of_step(one, &first, &mut cast))));
    parts.sort_by_key(|(seq, _)| *seq);
    let names = cast.names.iter().zip(1..);
    let cast =
        names.map(|(name, number)| format!("    participant p{number} as {}", escaped(name)));
    let mut lines = vec!["sequenceDiagram".to_owned()];
    lines.extend(cast);
    lines.extend(parts.into_iter().flat_map(|(_, lines)| lines));
    lines
}

/// Who takes part, in the order of their first appearance.
#[derive(Default)]
struct Cast {
    names: Vec<String>,
}

impl Cast {
    /// Returns the alias of a participant, which may be new.
    fn of(&mut self, name: &str) -> String {
        let known = self.names.iter().position(|other| other == name);
        let index = known.unwrap_or_else(|| {
            self.names.push(name.to_owned());
            self.names.len() - 1
        });
        format!("p{}", index + 1)
    }
}

fn of_message(message: &TraceMessage, cast: &mut Cast) -> Vec<String> {
    let (from, to) = (cast.of(&message.agent), cast.of(&message.to));
    let text = message.text.clone().unwrap_or_else(|| no_text(message.lost.as_deref()));
    let labels = message.labels().join(", ");
    let labels = if labels.is_empty() { "message".to_owned() } else { labels };
    let words = format!("{labels}: {}", beginning(&text, TEXT_CHARS));
    // An answer is a dashed arrow, as a return is.
    let arrow = if message.reply_to.is_some() { "-->>" } else { "->>" };
    let mut lines = vec![format!("    {from}{arrow}{to}: {}", escaped(&words))];
    let mut receipts: Vec<_> = message
        .receipts
        .iter()
        .take(SHOWN_RECEIPTS)
        .map(|receipt| {
            let method = receipt.steps.iter().rev().find_map(|step| step.method.as_ref());
            let by = method.map(|method| format!(" by {method}")).unwrap_or_default();
            format!("{} {}{by}", receipt.member, receipt.status.as_str())
        })
        .collect();
    let more = message.receipts.len().saturating_sub(SHOWN_RECEIPTS);
    if more > 0 {
        receipts.push(format!("{more} more"));
    }
    if !receipts.is_empty() {
        lines.push(format!("    Note over {to}: {}", escaped(&receipts.join(", "))));
    }
    lines
}

fn of_step(step: &TraceStep, first: &str, cast: &mut Cast) -> Vec<String> {
    let who = step.by.as_deref().or(step.to.first().map(String::as_str)).unwrap_or(first);
    let words = format!("{}: {}", step.about, step.in_words());
    vec![format!("    Note over {}: {}", cast.of(who), escaped(&words))]
}

/// Returns a text as one line in which nothing has a meaning for Mermaid or HTML.
fn escaped(text: &str) -> String {
    let mut line = String::new();
    for letter in beginning(text, 4 * TEXT_CHARS).chars() {
        match letter {
            '#' | ';' | '<' | '>' | '"' | '&' | '%' | '$' | '{' | '}' | '\\' | '`' => {
                line.push('#');
                line.push_str(&u32::from(letter).to_string());
                line.push(';');
            }
            letter => line.push(letter),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_letter_of_a_text_has_a_meaning_for_mermaid() {
        assert_eq!(escaped("a; b\n%% c"), "a#59; b #37;#37; c");
        assert_eq!(escaped("#quot;<b>$$x$$"), "#35;quot#59;#60;b#62;#36;#36;x#36;#36;");
        assert_eq!(escaped("ann → ben: hi"), "ann → ben: hi");
    }
}
