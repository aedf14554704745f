//! Numbers with their noun, so that one thing is not "1 things".

use std::fmt::Display;

/// Returns a number with a noun whose plural ends in `s`.
pub fn counted<N: Copy + Display + PartialEq + From<u8>>(number: N, one: &str) -> String {
    if number == N::from(1) { format!("1 {one}") } else { format!("{number} {one}s") }
}

/// Returns a number with a noun, and perhaps its verb: "1 line is", "2 lines are".
pub fn counted_as<N: Copy + Display + PartialEq + From<u8>>(
    number: N,
    one: &str,
    many: &str,
) -> String {
    if number == N::from(1) { format!("1 {one}") } else { format!("{number} {many}") }
}

/// Returns a noun alone, in the form for a number that stands elsewhere.
pub fn noun(number: usize, one: &'static str, many: &'static str) -> &'static str {
    if number == 1 { one } else { many }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_is_singular() {
        let steps = [0_usize, 1, 2].map(|number| counted(number, "step"));
        assert_eq!(steps, ["0 steps", "1 step", "2 steps"]);
        let lines = [0_u64, 1, 2].map(|number| counted_as(number, "line is", "lines are"));
        assert_eq!(lines, ["0 lines are", "1 line is", "2 lines are"]);
        let copies = [0, 1, 2].map(|number| noun(number, "copy", "copies"));
        assert_eq!(copies, ["copies", "copy", "copies"]);
    }
}
