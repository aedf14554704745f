//! What a question for permission says of a call of a tool. Pure.

use std::borrow::Cow;

/// Returns the title of a call, behind the name of its tool where the title is only the arguments: they alone do not say what is done
/// with them, and a lasting answer would count for each tool with the same ones.
pub fn asked_title<'a>(tool: &str, title: &'a str) -> Cow<'a, str> {
    let is_arguments = title.trim_start().starts_with('{');
    if is_arguments && !tool.is_empty() && tool != title {
        format!("{tool} {title}").into()
    } else {
        title.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_of_arguments_alone_has_the_name_of_the_tool_before_it() {
        let arguments = r#"{"to":"main"}"#;
        let named = asked_title("mcp__git__push", arguments);
        assert_eq!(named, r#"mcp__git__push {"to":"main"}"#);
        assert_eq!(asked_title("Bash", "make clean"), "make clean");
        for unnamed in ["", arguments] {
            assert_eq!(asked_title(unnamed, arguments), arguments);
        }
    }
}
