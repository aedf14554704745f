//! What a key makes of the window: another window, and perhaps an effect.

use super::answering::{Answering, Subject};
use super::item::Item;
use super::pane::Pane;
use super::state::{Dialog, Screen};
use super::typed_line::TypedLine;
use crate::cli::commands::top::keyboard::Input;
use crate::config::{KeyAction, KeyPress};
use crate::domain::act::Act;
use crate::domain::ids::WorkflowId;
use crate::domain::messaging::{Address, Priority};
use crate::domain::workflow::StepStatus;
use crate::view::{Need, NeedKind, WayOut};

/// The rows that a wheel moves.
const WHEEL: isize = 3;

/// The rows and columns of the smallest window that shows enough of a question to answer it: the smallest that the documents promise.
const LEAST: (u16, u16) = (15, 60);

/// What a key asks of the world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli::commands::top) enum Effect {
    Quit,
    Act(Act),
}

impl Screen {
    /// Takes an input.
    pub(in crate::cli::commands::top) fn press(&mut self, input: Input) -> Option<Effect> {
        match input {
            Input::Closed | Input::Key(KeyPress::Control('c')) => return Some(Effect::Quit),
            Input::Paste(text) => {
                self.paste(&text);
                return None;
            }
            Input::WheelUp => self.go(-WHEEL),
            Input::WheelDown => self.go(WHEEL),
            Input::Click { row, .. } => self.click(row),
            Input::Key(key) => {
                self.notice = None;
                return self.key(key);
            }
        }
        None
    }

    fn key(&mut self, key: KeyPress) -> Option<Effect> {
        match &self.dialog {
            Dialog::None => self.in_list(key),
            Dialog::Help { .. } | Dialog::Open { .. } => self.in_text(key),
            Dialog::Filter { .. } => {
                self.in_filter(key);
                None
            }
            Dialog::Write { .. } => self.in_message(key),
            Dialog::Answer(_) => self.in_answer(key),
            Dialog::Refuse { .. } => self.in_reason(key),
            Dialog::Ask { .. } => self.in_question(key),
        }
    }

    fn in_list(&mut self, key: KeyPress) -> Option<Effect> {
        match key {
            KeyPress::Escape => {
                // One thing at a time, so that a person sees what it has closed.
                if self.has_peek {
                    self.has_peek = false;
                } else {
                    self.filter.clear();
                }
                return None;
            }
            KeyPress::Letter(digit @ '1'..='6') => {
                self.pane = Pane::ALL[usize::from(digit as u8 - b'1')];
                return None;
            }
            _ => {}
        }
        match self.keys.action(key)? {
            KeyAction::Quit => return Some(Effect::Quit),
            KeyAction::Up => self.step(-1),
            KeyAction::Down => self.step(1),
            KeyAction::PageUp => self.step(-self.page()),
            KeyAction::PageDown => self.step(self.page()),
            KeyAction::First => self.choose(0),
            KeyAction::Last => self.choose(usize::MAX),
            KeyAction::NextPane => self.pane = self.pane.step(1),
            KeyAction::PreviousPane => self.pane = self.pane.step(Pane::ALL.len() - 1),
            KeyAction::Open => {
                if let Some(key) = self.chosen().and_then(|item| item.key()) {
                    self.dialog = Dialog::Open { key, scroll: 0 };
                }
            }
            KeyAction::Peek => self.peek(),
            KeyAction::Filter => self.dialog = Dialog::Filter { before: self.filter.clone() },
            KeyAction::Group => {
                self.grouping = self.grouping.next();
                self.notice = Some(self.grouping.words().to_owned());
            }
            KeyAction::Help => self.dialog = Dialog::Help { scroll: 0 },
            action @ (KeyAction::Answer
            | KeyAction::Message
            | KeyAction::Cancel
            | KeyAction::Kill) => match self.looks_only {
                Some(why) => self.notice = Some(format!("This window only looks: {why}.")),
                None => self.ask_for(action),
            },
        }
        None
    }

    fn peek(&mut self) {
        self.has_peek = !self.has_peek;
        if self.has_peek && self.wanted().live.is_none() {
            self.has_peek = false;
            self.notice = Some("There is no task here whose words could be shown.".to_owned());
        }
    }

    /// Opens the dialog of an action.
    fn ask_for(&mut self, action: KeyAction) {
        let dialog = match action {
            KeyAction::Answer => self.answer(),
            KeyAction::Message => self.message(),
            KeyAction::Cancel => self.cancel(),
            _ => self.kill(),
        };
        match dialog {
            Ok(dialog) => self.dialog = dialog,
            Err(why) => self.notice = Some(why.to_owned()),
        }
    }

    fn answer(&self) -> Result<Dialog, &'static str> {
        let none = "Nothing waits for your answer here.";
        let board = self.board().ok_or(none)?;
        let item = self.chosen().ok_or(none)?;
        let of_permission = |id: &String| Subject::Permission(id.clone());
        let subject = match item {
            Item::Need(need, _) if need.answered_by_message().is_some() => {
                return self.message();
            }
            Item::Need(need, _) => match (need.kind, &need.id) {
                (NeedKind::Permission, Some(id)) => of_permission(id),
                (NeedKind::Approval, Some(id)) => Subject::Step(id.clone(), need.who.clone()),
                _ => return Err(need.way_out().map_or("It asks nothing.", WayOut::advice)),
            },
            Item::Step(tree, step, _) if step.status == StepStatus::Asking => {
                Subject::Step(tree.workflow_id.clone(), step.name.clone())
            }
            item if self.question_in(item).is_some() => return self.message(),
            item => {
                let name = item.member().ok_or(none)?;
                let mut asked = board.permissions.iter().filter(|row| row.agent == name);
                of_permission(asked.next().map(|row| &row.permission_id).ok_or(none)?)
            }
        };
        Ok(Dialog::Answer(Answering::of(subject)))
    }

    /// Returns to whom, and in reply to what, a message answers the question that a row of a member or a message has for the person.
    fn question_in(&self, item: Item<'_>) -> Option<(&str, &str)> {
        let asks = |need: &&Need| match item {
            Item::Member(row) => need.who == row.name,
            Item::Letter(letter) => need.id.as_ref() == Some(&letter.message_id),
            _ => false,
        };
        let needs = self.board()?.needs_you.iter();
        let mut questions = needs.filter(|need| need.kind == NeedKind::Question);
        questions.find(asks)?.answered_by_message()
    }

    fn message(&self) -> Result<Dialog, &'static str> {
        let none = "Choose a member to write to.";
        let item = self.chosen().ok_or(none)?;
        let answered = match item {
            Item::Need(need, _) => need.answered_by_message(),
            item => self.question_in(item),
        };
        let name = answered.map(|(name, _)| name).or(item.member()).ok_or(none)?;
        let is_known =
            self.board().is_some_and(|board| board.members.iter().any(|row| row.name == name));
        // Whether a member of another project is still there, only its own bus knows.
        if !is_known && !Address::is_elsewhere(name) {
            return Err("This member is not on the bus any more.");
        }
        let reply_to = match item {
            Item::Letter(letter) => Some(letter.message_id.clone()),
            _ => answered.map(|(_, id)| id.to_owned()),
        };
        Ok(Dialog::Write { to: name.to_owned(), reply_to, line: TypedLine::default() })
    }

    fn cancel(&self) -> Result<Dialog, &'static str> {
        let none = "Choose a task, a workflow or a working agent to cancel.";
        let item = self.chosen().ok_or(none)?;
        let ask = |question: String, act| Ok(Dialog::Ask { question, act, is_second: false });
        let cancel_task = |id: &str, agent: &str| {
            ask(format!("Cancel {id} of {agent}?"), Act::Cancel { id: id.to_owned() })
        };
        match item {
            Item::Workflow(tree) if tree.ended_at.is_none() => {
                let question = format!("Cancel the workflow {}?", tree.workflow_id);
                ask(question, Act::Cancel { id: tree.workflow_id.clone() })
            }
            Item::Workflow(_) => Err("This workflow has ended."),
            Item::Task(task) if task.ended_at.is_none() => cancel_task(&task.task_id, &task.agent),
            Item::Task(_) => Err("This task has ended."),
            Item::Step(_, step, _) if step.status == StepStatus::Running => {
                let id = step.task_id.as_deref().ok_or("This step has no task.")?;
                cancel_task(id, &step.agent)
            }
            Item::Need(_, Some(row)) | Item::Member(row) if row.state != "left" => {
                match &row.task_id {
                    Some(id) => cancel_task(id, &row.name),
                    None if row.kind == "agent" => {
                        let question = format!("{} has no task. Stop it?", row.name);
                        let (member, session) = (row.name.clone(), row.session);
                        ask(question, Act::Stop { member, session: Some(session) })
                    }
                    None => Err("Only agents can be cancelled and stopped."),
                }
            }
            _ => Err(none),
        }
    }

    fn kill(&self) -> Result<Dialog, &'static str> {
        let none = "Choose an agent to kill.";
        let name = self.chosen().and_then(|item| item.member()).ok_or(none)?;
        let board = self.board().ok_or(none)?;
        let live = board.members.iter().find(|row| row.name == name && row.state != "left");
        match live {
            Some(row) if row.kind == "agent" => Ok(Dialog::Ask {
                question: match &row.task_id {
                    Some(_) => format!("Kill {name}? Its task ends as cancelled."),
                    None => format!("Kill {name}?"),
                },
                act: Act::Kill { member: name.to_owned(), session: Some(row.session) },
                is_second: false,
            }),
            Some(_) => Err("Only agents can be killed."),
            None => Err("This agent has ended."),
        }
    }

    /// Takes a key in a text that is only read.
    fn in_text(&mut self, key: KeyPress) -> Option<Effect> {
        match self.keys.action(key) {
            _ if key == KeyPress::Escape => self.dialog = Dialog::None,
            Some(KeyAction::Up) => self.go(-1),
            Some(KeyAction::Down) => self.go(1),
            Some(KeyAction::PageUp) => self.go(-self.page()),
            Some(KeyAction::PageDown | KeyAction::Peek) => self.go(self.page()),
            Some(KeyAction::First) => self.go(isize::MIN),
            Some(KeyAction::Last) => self.go(isize::MAX),
            Some(KeyAction::Open | KeyAction::Quit | KeyAction::Help) => {
                self.dialog = Dialog::None;
            }
            Some(
                action @ (KeyAction::Answer
                | KeyAction::Message
                | KeyAction::Cancel
                | KeyAction::Kill),
            ) if matches!(self.dialog, Dialog::Open { .. }) => {
                self.dialog = Dialog::None;
                let key = self.keys.keys_of(action);
                return key.first().and_then(|key| self.in_list(*key));
            }
            _ => {}
        }
        None
    }

    fn in_filter(&mut self, key: KeyPress) {
        let Dialog::Filter { before } = &self.dialog else { return };
        match key {
            KeyPress::Escape => {
                self.filter = before.clone();
                self.dialog = Dialog::None;
            }
            KeyPress::Enter => self.dialog = Dialog::None,
            KeyPress::Up | KeyPress::Down => self.step(if key == KeyPress::Up { -1 } else { 1 }),
            key => {
                let mut line = TypedLine::of(&self.filter);
                line.press(key);
                self.filter = line.text();
            }
        }
    }

    fn in_message(&mut self, key: KeyPress) -> Option<Effect> {
        let Dialog::Write { to, reply_to, line } = &mut self.dialog else { return None };
        match key {
            KeyPress::Escape => self.dialog = Dialog::None,
            KeyPress::Enter => {
                let (to, reply_to, text) = (to.clone(), reply_to.clone(), line.text());
                self.dialog = Dialog::None;
                if !text.trim().is_empty() {
                    let priority = Priority::Normal;
                    return Some(Effect::Act(Act::Send { to, text, priority, reply_to }));
                }
            }
            key => line.press(key),
        }
        None
    }

    fn in_answer(&mut self, key: KeyPress) -> Option<Effect> {
        let board = self.news.board.clone()?;
        let page = self.page();
        let action = self.keys.action(key);
        let is_too_small = self.is_too_small();
        let most_scroll = self.most_scroll();
        let Dialog::Answer(answering) = &mut self.dialog else { return None };
        let offers = answering.offers(&board);
        match (key, action) {
            (KeyPress::Escape, _) => self.dialog = Dialog::None,
            (KeyPress::Left | KeyPress::ShiftTab, _) => {
                answering.choice = answering.choice.saturating_sub(1);
            }
            (KeyPress::Right | KeyPress::Tab, _) => {
                answering.choice = (answering.choice + 1).min(offers.len() - 1);
            }
            // A letter only chooses, so that none that was meant for something else allows anything.
            (KeyPress::Letter(letter), _) if offers.iter().any(|offer| offer.letter == letter) => {
                let chosen = offers.iter().position(|offer| offer.letter == letter);
                answering.choice = chosen.unwrap_or_default();
            }
            (KeyPress::Enter, _) if is_too_small => self.refuse_small(),
            (KeyPress::Enter, _) => {
                if let Some((workflow, step)) = answering.wants_reason(&board) {
                    self.dialog = Dialog::Refuse { workflow, step, line: TypedLine::default() };
                    return None;
                }
                // Whoever allows something has had its end in sight: until then Enter only goes there.
                if answering.allows(&board) && answering.scroll < most_scroll {
                    self.go(isize::MAX);
                    return None;
                }
                let act = answering.act(&board);
                self.dialog = Dialog::None;
                return act.map(Effect::Act);
            }
            (_, Some(KeyAction::Up)) => self.go(-1),
            (_, Some(KeyAction::Down)) => self.go(1),
            (_, Some(KeyAction::PageUp)) => self.go(-page),
            (_, Some(KeyAction::PageDown | KeyAction::Peek)) => self.go(page),
            (_, Some(KeyAction::First)) => self.go(isize::MIN),
            (_, Some(KeyAction::Last)) => self.go(isize::MAX),
            _ => {}
        }
        None
    }

    fn in_reason(&mut self, key: KeyPress) -> Option<Effect> {
        let Dialog::Refuse { workflow, step, line } = &mut self.dialog else { return None };
        match key {
            KeyPress::Escape => self.dialog = Dialog::None,
            KeyPress::Enter => {
                let reason = Some(line.text()).filter(|reason| !reason.trim().is_empty());
                let act = Act::Approve {
                    workflow: workflow.clone(),
                    step: step.clone(),
                    given: false,
                    reason,
                };
                self.dialog = Dialog::None;
                return Some(Effect::Act(act));
            }
            key => line.press(key),
        }
        None
    }

    fn in_question(&mut self, key: KeyPress) -> Option<Effect> {
        let Dialog::Ask { question, act, is_second } = std::mem::take(&mut self.dialog) else {
            return None;
        };
        if self.is_too_small() {
            self.refuse_small();
            return None;
        }
        // A key that is held down answers neither question: each takes another one.
        match (is_second, key) {
            (false, KeyPress::Letter('y')) => {
                let question = what_follows(&act).to_owned();
                self.dialog = Dialog::Ask { question, act, is_second: true };
            }
            (true, KeyPress::Letter('y')) => {
                self.dialog = Dialog::Ask { question, act, is_second };
            }
            (true, KeyPress::Enter) => return Some(Effect::Act(act)),
            _ => self.notice = Some("Nothing was done.".to_owned()),
        }
        None
    }

    fn is_too_small(&self) -> bool {
        self.size.0 < LEAST.0 || self.size.1 < LEAST.1
    }

    /// Takes no answer to a question of which the window may show nothing.
    fn refuse_small(&mut self) {
        let (rows, columns) = LEAST;
        let what =
            format!("Nothing was done: to answer, make the window {columns}×{rows} or larger.");
        self.dialog = Dialog::None;
        self.notice = Some(what);
    }

    fn paste(&mut self, text: &str) {
        let all_fits = match &mut self.dialog {
            Dialog::Write { line, .. } | Dialog::Refuse { line, .. } => line.add(text),
            Dialog::Filter { .. } => {
                let mut line = TypedLine::of(&self.filter);
                let all_fits = line.add(&text.replace('\n', " "));
                self.filter = line.text();
                all_fits
            }
            _ => true,
        };
        if !all_fits {
            self.notice = Some("The rest of the text has no room here.".to_owned());
        }
    }

    /// Moves what is read, or the chosen row.
    fn go(&mut self, by: isize) {
        let most = self.most_scroll();
        let scroll = match &mut self.dialog {
            Dialog::Help { scroll } | Dialog::Open { scroll, .. } => scroll,
            Dialog::Answer(answering) => &mut answering.scroll,
            Dialog::None => return self.step(by),
            _ => return,
        };
        *scroll = scroll.saturating_add_signed(by).min(most);
    }

    /// Returns the rows of a page.
    fn page(&self) -> isize {
        // Besides the lines at the top and the bottom, and one that stays in sight.
        isize::try_from(self.size.0.saturating_sub(5).max(1)).unwrap_or(1)
    }

    fn click(&mut self, row: u16) {
        if let (Dialog::None, Some(place)) = (&self.dialog, self.item_at(row)) {
            self.choose(place);
        }
    }
}

/// Says what an act ends, before it is asked about again.
fn what_follows(act: &Act) -> &'static str {
    match act {
        Act::Kill { .. } => "All its processes end at once, whatever they are doing.",
        Act::Stop { .. } => "Its process ends. A task for its name resumes it.",
        Act::Cancel { id } if WorkflowId::parse(id).is_ok() => {
            "Its running steps are cancelled, and no other begins."
        }
        _ => "Its turn ends. The files that it has changed stay as they are.",
    }
}
