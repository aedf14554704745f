//! Where the texts behind headers come from. The read model knows no disk.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::bus::event::{Body, BodyRef, LogPosition};
use crate::domain::ids::TaskId;
use crate::domain::text::visible_letters::beginning;
use crate::domain::workflow::own_words;
use crate::view::turn_error;

/// A source of stored texts. A text that it cannot read is missing from what is shown.
pub trait Texts {
    /// Reads the text behind a header.
    fn text(&mut self, body: BodyRef) -> Option<String>;

    /// Reads a long text of an event, which stands beside the log.
    fn long_text(&mut self, _: &Body) -> LongText {
        LongText::Unreadable
    }

    /// Reads the end of the transcript of a task; where there are none, nothing.
    fn last_of_transcript(&mut self, _: &TaskId) -> Option<String> {
        None
    }

    /// Reads the error with which a turn has ended, if it has ended with one.
    fn error_of_turn(&mut self, turn: &TaskId) -> Option<String> {
        turn_error(&self.last_of_transcript(turn)?)
    }

    /// Reads a text of an event, and says why it is lost if it is: then there is none.
    fn text_or_loss<'b>(&mut self, body: &'b Body) -> (Option<Cow<'b, str>>, Option<String>) {
        match body {
            Body::Text(text) => (Some(Cow::Borrowed(text)), None),
            Body::Blob { .. } => match self.long_text(body) {
                LongText::Whole(text) => (Some(Cow::Owned(text)), None),
                LongText::Missing(why) | LongText::Changed(why) => (None, Some(why)),
                LongText::Unreadable => (None, None),
            },
        }
    }

    /// Reads a text of an event.
    fn text_of<'b>(&mut self, body: &'b Body) -> Option<Cow<'b, str>> {
        self.text_or_loss(body).0
    }

    /// Returns the beginning of the text behind a header as one line.
    fn first_words(&mut self, body: BodyRef, most: usize) -> Option<String> {
        self.text(body).map(|text| beginning(&text, most))
    }

    /// Returns the beginning of a prompt as one line: of a step its own words, without what it is given.
    fn first_of_prompt(&mut self, prompt: BodyRef, most: usize) -> Option<String> {
        self.text(prompt).map(|text| beginning(&own_words(&text), most))
    }

    /// Returns the beginning of the description of a request as one line, without its context.
    fn first_of_request(&mut self, request: BodyRef, most: usize) -> Option<String> {
        self.first_words(request, most)
    }
}

/// What is in the place of a long text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LongText {
    /// It is as it was stored.
    Whole(String),
    /// It is gone for good, and why.
    Missing(String),
    /// Another program has changed it, and how that is known: what is there now is nobody's words.
    Changed(String),
    /// It cannot be read now.
    Unreadable,
}

/// Says in the place of a text that there is none, and why if it is lost.
pub fn no_text(lost: Option<&str>) -> String {
    lost.map_or_else(
        || "(its text cannot be read)".to_owned(),
        |why| format!("(its text cannot be shown: {why})"),
    )
}

/// No texts, for what shows none.
pub struct NoTexts;

impl Texts for NoTexts {
    fn text(&mut self, _: BodyRef) -> Option<String> {
        None
    }
}

/// The most beginnings that are kept: the open tasks and requests of a large team.
const MOST_KNOWN: usize = 4_096;

/// A text that cannot be read now is looked for at the next look, then after two, four, and so on, but at the latest after so many.
const LONGEST_PAUSE: u32 = 256;

/// When a text is read again that could not be read.
#[derive(Clone, Debug)]
pub(in crate::view) struct NextTry {
    /// After how many looks.
    pause: u32,
    /// How many of them are to come.
    left: u32,
}

impl NextTry {
    /// Begins after the first try.
    pub(in crate::view) fn soon() -> Self {
        Self { pause: 1, left: 1 }
    }

    /// Counts a look. Says whether the text is to be read in it.
    pub(in crate::view) fn is_due(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        let is_due = self.left == 0;
        if is_due {
            self.pause = self.pause.saturating_mul(2).min(LONGEST_PAUSE);
            self.left = self.pause;
        }
        is_due
    }
}

/// The beginnings of texts, and the errors of turns, that were read before. A text of the log never changes, nor does the end of a turn.
#[derive(Debug, Default)]
pub struct KnownWords {
    words: BTreeMap<(LogPosition, u16, usize), Result<String, NextTry>>,
    errors: BTreeMap<TaskId, String>,
}

/// Texts of which each beginning is read once, and again if it could not be read.
pub struct KnownTexts<'a> {
    pub texts: &'a mut dyn Texts,
    pub known: &'a mut KnownWords,
}

impl Texts for KnownTexts<'_> {
    fn text(&mut self, body: BodyRef) -> Option<String> {
        self.texts.text(body)
    }

    fn long_text(&mut self, body: &Body) -> LongText {
        self.texts.long_text(body)
    }

    fn last_of_transcript(&mut self, task: &TaskId) -> Option<String> {
        self.texts.last_of_transcript(task)
    }

    fn error_of_turn(&mut self, turn: &TaskId) -> Option<String> {
        if let Some(error) = self.known.errors.get(turn) {
            return Some(error.clone());
        }
        let error = self.texts.error_of_turn(turn)?;
        if self.known.errors.len() >= MOST_KNOWN {
            self.known.errors.clear();
        }
        self.known.errors.insert(turn.clone(), error.clone());
        Some(error)
    }

    fn first_words(&mut self, body: BodyRef, most: usize) -> Option<String> {
        self.once((body, most), |texts| texts.first_words(body, most))
    }

    fn first_of_prompt(&mut self, prompt: BodyRef, most: usize) -> Option<String> {
        self.once((prompt, most), |texts| texts.first_of_prompt(prompt, most))
    }

    fn first_of_request(&mut self, request: BodyRef, most: usize) -> Option<String> {
        self.once((request, most), |texts| texts.first_of_request(request, most))
    }
}

impl KnownTexts<'_> {
    /// Reads the beginning of a text, unless it was read before. A text is a prompt, a request or neither, so the ways to read it are never mixed.
    fn once(
        &mut self,
        (body, most): (BodyRef, usize),
        read: impl FnOnce(&mut dyn Texts) -> Option<String>,
    ) -> Option<String> {
        let key = (body.place, body.index, most);
        match self.known.words.get_mut(&key) {
            Some(Ok(words)) => return Some(words.clone()),
            Some(Err(next)) => {
                if !next.is_due() {
                    return None;
                }
                let words = read(self.texts)?;
                self.known.words.insert(key, Ok(words.clone()));
                return Some(words);
            }
            None => {}
        }
        let words = read(self.texts);
        if self.known.words.len() >= MOST_KNOWN {
            self.known.words.clear();
        }
        self.known.words.insert(key, words.clone().ok_or_else(NextTry::soon));
        words
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use crate::domain::workflow::framed_output;

    #[test]
    fn the_error_of_a_turn_is_read_until_it_has_one() {
        struct Growing(Vec<&'static str>);
        impl Texts for Growing {
            fn text(&mut self, _: BodyRef) -> Option<String> {
                None
            }
            fn last_of_transcript(&mut self, _: &TaskId) -> Option<String> {
                self.0.pop().map(str::to_owned)
            }
        }
        let (mut growing, mut known) =
            (Growing(vec![r#"{"kind":"end","error":"401"}"#, ""]), KnownWords::default());
        let turn = TaskId::from_bits(1);
        let errors: Vec<_> = (0..3)
            .map(|_| KnownTexts { texts: &mut growing, known: &mut known }.error_of_turn(&turn))
            .collect();
        assert_eq!(errors, [None, Some("401".to_owned()), Some("401".to_owned())]);
    }

    #[test]
    fn the_beginning_of_a_text_is_read_once() {
        struct Counted(usize);
        impl Texts for Counted {
            fn text(&mut self, body: BodyRef) -> Option<String> {
                self.0 += 1;
                Some(format!("{} words", body.index))
            }
        }
        let (mut counted, mut known) = (Counted(0), KnownWords::default());
        for _ in 0..3 {
            for index in 0..2 {
                let mut texts = KnownTexts { texts: &mut counted, known: &mut known };
                let body = BodyRef { place: LogPosition::default(), index, bytes: 7 };
                assert_eq!(texts.first_words(body, 3), Some(format!("{index} w…")));
            }
        }
        assert_eq!(counted.0, 2);
    }

    #[test]
    fn a_text_that_cannot_be_read_is_looked_for_again_but_not_at_each_look() {
        struct Absent<'a> {
            reads: &'a Cell<usize>,
            is_back: &'a Cell<bool>,
        }
        impl Texts for Absent<'_> {
            fn text(&mut self, _: BodyRef) -> Option<String> {
                self.reads.set(self.reads.get() + 1);
                self.is_back.get().then(|| "words".to_owned())
            }
        }
        let (reads, is_back) = (Cell::new(0), Cell::new(false));
        let mut absent = Absent { reads: &reads, is_back: &is_back };
        let mut known = KnownWords::default();
        let body = BodyRef { place: LogPosition::default(), index: 0, bytes: 7 };
        let mut look = || KnownTexts { texts: &mut absent, known: &mut known }.first_words(body, 9);
        assert_eq!((look(), look()), (None, None));
        assert_eq!(reads.get(), 2, "the next look reads it");
        assert!((0..1_000).all(|_| look().is_none()));
        assert!(reads.get() < 20, "{} reads in 1,000 looks", reads.get());
        is_back.set(true);
        assert!((0..LONGEST_PAUSE).any(|_| look().as_deref() == Some("words")));
        let before = reads.get();
        assert_eq!((look().as_deref(), reads.get()), (Some("words"), before), "it is read once");
    }

    #[test]
    fn the_beginning_of_a_prompt_is_that_of_the_steps_own_words_and_read_once_too() {
        struct Framed(usize);
        impl Texts for Framed {
            fn text(&mut self, _: BodyRef) -> Option<String> {
                self.0 += 1;
                Some(format!("{}\n\nPublish it.", framed_output("proof", None, "done")))
            }
        }
        let (mut framed, mut known) = (Framed(0), KnownWords::default());
        for _ in 0..3 {
            let mut texts = KnownTexts { texts: &mut framed, known: &mut known };
            let body = BodyRef { place: LogPosition::default(), index: 0, bytes: 7 };
            let words = texts.first_of_prompt(body, 50).unwrap();
            assert_eq!(words, "[the output of step proof] Publish it.");
        }
        assert_eq!(framed.0, 1);
    }
}
