//! Answers to requests that named an `Idempotency-Key`, so that a program that repeats one after a broken connection gets the first one's
//! answer. They are kept for a while, as long as the server runs; of each key of the API so many.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use tokio::sync::watch;

use crate::domain::access_key::KeyHash;
use crate::domain::{limits, wait_times};
use crate::sys::mutex::lock;

/// An answer.
#[derive(Clone, Debug)]
pub(in crate::web) struct KeptAnswer {
    pub(super) status: StatusCode,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// The digest of what was asked: a repetition asks for the same.
pub(super) type Asked = [u8; 32];

/// The answer to come, or that has come.
pub(super) type Coming = watch::Receiver<Option<Arc<KeptAnswer>>>;

/// The answers of a server. Cheap to clone.
#[derive(Clone, Default)]
pub(in crate::web) struct KeptAnswers(Arc<Mutex<VecDeque<Kept>>>);

struct Kept {
    program: KeyHash,
    key: String,
    asked: Asked,
    at: Instant,
    answer: Coming,
    /// Whether nobody knows if it was done: a repetition tries it again, and the key is for nothing else.
    is_unknown: bool,
    /// Whether that was so of an earlier attempt, which may have done it.
    was_unknown: bool,
}

/// What a request is.
pub(super) enum Attempt {
    /// The first of its key: it is done, and its answer is sent here.
    First(watch::Sender<Option<Arc<KeptAnswer>>>, Coming),
    /// A repetition.
    Again(Coming),
    /// Another request had this key.
    Reused,
}

impl Kept {
    fn is(&self, program: &KeyHash, key: &str) -> bool {
        self.program == *program && self.key == key
    }

    /// Says whether an attempt has ended without an answer.
    fn is_void(&self) -> bool {
        self.answer.has_changed().is_err() && self.answer.borrow().is_none()
    }

    fn is_going(&self) -> bool {
        !self.is_void() && self.answer.borrow().is_none()
    }

    fn bytes(&self) -> usize {
        self.answer.borrow().as_ref().map_or(0, |answer| answer.body.len())
    }
}

impl KeptAnswers {
    /// Notes an attempt of a program.
    pub(super) fn attempt(&self, program: &KeyHash, key: &str, asked: Asked) -> Attempt {
        let mut kept = lock(&self.0);
        kept.retain(|one| one.at.elapsed() < wait_times::IDEMPOTENT_KEPT && !one.is_void());
        let mut was_unknown = false;
        if let Some(at) = kept.iter().position(|one| one.is(program, key)) {
            let known = &kept[at];
            if known.asked != asked {
                return Attempt::Reused;
            }
            if !known.is_unknown {
                return Attempt::Again(known.answer.clone());
            }
            kept.remove(at);
            was_unknown = true;
        }
        let (sender, answer) = watch::channel(None);
        let (program, key) = (program.clone(), key.to_owned());
        make_room(&mut kept, &program);
        kept.push_back(Kept {
            program,
            key,
            asked,
            at: Instant::now(),
            answer: answer.clone(),
            is_unknown: false,
            was_unknown,
        });
        Attempt::First(sender, answer)
    }

    /// Forgets an attempt that has done nothing, so that the next one is the first; unless an earlier one may have done it.
    pub(super) fn forget(&self, program: &KeyHash, key: &str) {
        lock(&self.0).retain_mut(|one| {
            let is_kept = !one.is(program, key) || one.was_unknown;
            one.is_unknown |= is_kept && one.is(program, key);
            is_kept
        });
    }

    /// Notes that nobody knows whether an attempt was done, so that a repetition tries it again.
    pub(super) fn leave_unknown(&self, program: &KeyHash, key: &str) {
        let mut kept = lock(&self.0);
        if let Some(one) = kept.iter_mut().find(|one| one.is(program, key)) {
            one.is_unknown = true;
        }
    }
}

/// Forgets the oldest answers of a program, as many as are too much.
fn make_room(kept: &mut VecDeque<Kept>, program: &KeyHash) {
    let (mut count, mut bytes) = (1, 0);
    let mut oldest = kept.len();
    for (index, one) in kept.iter().enumerate().rev().filter(|(_, one)| one.program == *program) {
        count += 1;
        bytes += one.bytes();
        if count > limits::IDEMPOTENT_ANSWERS || bytes > limits::IDEMPOTENT_BYTES {
            break;
        }
        oldest = index;
    }
    let mut index = 0;
    kept.retain(|one| {
        index += 1;
        index > oldest || one.program != *program || one.is_going()
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::access_key::hash_of_secret;

    fn program(digit: &str) -> KeyHash {
        hash_of_secret(&format!("ctb_{}", digit.repeat(64))).unwrap()
    }

    fn answer(body: &'static str) -> Arc<KeptAnswer> {
        let (status, body) = (StatusCode::CREATED, Bytes::from_static(body.as_bytes()));
        Arc::new(KeptAnswer { status, headers: HeaderMap::new(), body })
    }

    #[test]
    fn a_repetition_gets_the_first_answer_and_another_request_does_not() {
        let (answers, one) = (KeptAnswers::default(), program("0"));
        let Attempt::First(sender, _) = answers.attempt(&one, "a", [1; 32]) else { panic!() };
        sender.send_replace(Some(answer("first")));
        drop(sender);
        let Attempt::Again(again) = answers.attempt(&one, "a", [1; 32]) else { panic!() };
        assert_eq!(again.borrow().as_ref().unwrap().body, "first");
        assert!(matches!(answers.attempt(&one, "a", [2; 32]), Attempt::Reused));
        let other = program("1");
        assert!(matches!(answers.attempt(&other, "a", [1; 32]), Attempt::First(..)));
        answers.forget(&one, "a");
        assert!(matches!(answers.attempt(&one, "a", [2; 32]), Attempt::First(..)));
        // What has ended without an answer, as by a panic, is none.
        assert!(matches!(answers.attempt(&one, "a", [3; 32]), Attempt::First(..)));
    }

    #[test]
    fn what_may_have_been_done_is_tried_again_by_the_same_request_and_no_other() {
        let (answers, one) = (KeptAnswers::default(), program("0"));
        let Attempt::First(sender, _) = answers.attempt(&one, "a", [1; 32]) else { panic!() };
        answers.leave_unknown(&one, "a");
        sender.send_replace(Some(answer("nobody knows")));
        drop(sender);
        assert!(matches!(answers.attempt(&one, "a", [2; 32]), Attempt::Reused));
        // What is refused now may have been done before.
        let Attempt::First(sender, _) = answers.attempt(&one, "a", [1; 32]) else { panic!() };
        answers.forget(&one, "a");
        sender.send_replace(Some(answer("refused")));
        drop(sender);
        assert!(matches!(answers.attempt(&one, "a", [2; 32]), Attempt::Reused));
        let Attempt::First(sender, _) = answers.attempt(&one, "a", [1; 32]) else { panic!() };
        sender.send_replace(Some(answer("done")));
        let Attempt::Again(again) = answers.attempt(&one, "a", [1; 32]) else { panic!() };
        assert_eq!(again.borrow().as_ref().unwrap().body, "done");
    }

    #[test]
    fn a_program_that_names_many_keys_loses_its_own_oldest_answers() {
        let (answers, one, other) = (KeptAnswers::default(), program("0"), program("1"));
        let done = |program: &KeyHash, key: &str| {
            if let Attempt::First(sender, _) = answers.attempt(program, key, [0; 32]) {
                sender.send_replace(Some(answer("x")));
            }
        };
        done(&other, "its");
        for number in 0..=limits::IDEMPOTENT_ANSWERS {
            done(&one, &number.to_string());
        }
        assert_eq!(lock(&answers.0).len(), limits::IDEMPOTENT_ANSWERS + 1);
        let is_known = |program: &KeyHash, key: &str| {
            matches!(answers.attempt(program, key, [0; 32]), Attempt::Again(_))
        };
        assert!(is_known(&other, "its") && is_known(&one, "1") && !is_known(&one, "0"));
    }
}
