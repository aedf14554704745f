//! The position of each step in the tree: below the step that it follows.

use std::collections::BTreeMap;

use super::step_row::Shown;

/// The position of a step in the tree.
#[derive(Debug)]
pub(crate) struct TreePosition<'s> {
    /// The step's position in the workflow.
    pub(crate) step: usize,
    /// Its dependencies besides the step above it.
    pub(crate) others: Vec<&'s str>,
    /// For each of its ancestors in the tree and itself, outermost first: whether a sibling follows below.
    continues: Vec<bool>,
}

impl TreePosition<'_> {
    pub(crate) fn depth(&self) -> usize {
        self.continues.len()
    }

    /// Returns the guides before the step's mark.
    pub(crate) fn guides(&self) -> String {
        let own = match self.continues.last() {
            Some(true) => "├─ ",
            Some(false) => "└─ ",
            None => "",
        };
        self.guides_before() + own
    }

    /// Returns the guides of its ancestors.
    pub(crate) fn guides_before(&self) -> String {
        // A long chain would move its end out of sight, so its outermost guides are left out.
        const DEEPEST: usize = 7;
        let above = &self.continues[..self.continues.len().saturating_sub(1)];
        let left_out = above.len().saturating_sub(DEEPEST);
        let elided = if left_out > 0 { "…  " } else { "" };
        let guides = above[left_out..].iter().skip(usize::from(left_out > 0));
        let guides = guides.map(|continues| if *continues { "│  " } else { "   " });
        std::iter::once(elided).chain(guides).collect()
    }
}

/// Returns all steps in the order of the tree.
pub(crate) fn places(steps: &[Shown]) -> Vec<TreePosition<'_>> {
    let shape = Shape::of(steps);
    let mut places = Vec::new();
    let mut open: Vec<(usize, Vec<bool>)> = shape.below(None, &[]);
    while let Some((step, continues)) = open.pop() {
        open.extend(shape.below(Some(step), &continues));
        places.push(TreePosition { step, others: shape.others(step), continues });
    }
    places
}

struct Shape<'s> {
    steps: &'s [Shown],
    by_name: BTreeMap<&'s str, usize>,
    /// The parent of each step in the tree.
    parents: Vec<Option<usize>>,
}

impl<'s> Shape<'s> {
    fn of(steps: &'s [Shown]) -> Self {
        let names = steps.iter().enumerate();
        let mut shape = Self {
            steps,
            by_name: names.map(|(at, step)| (step.name.as_str(), at)).collect(),
            parents: Vec::new(),
        };
        let mut depths = vec![None; steps.len()];
        shape.parents = (0..steps.len()).map(|at| shape.parent(at, &mut depths)).collect();
        shape
    }

    /// Returns the parent of a step. An item is below its step. Any other step is below its deepest dependency, the last if there
    /// are several, so all its dependencies are above it.
    fn parent(&self, at: usize, depths: &mut [Option<usize>]) -> Option<usize> {
        let step = &self.steps[at];
        if let Some(whole) = &step.part_of {
            return self.by_name.get(whole.as_str()).copied();
        }
        let before = self.before(at);
        before.max_by_key(|before| (self.depth(*before, depths), *before))
    }

    fn before(&self, at: usize) -> impl Iterator<Item = usize> {
        let names = self.steps[at].depends_on.iter();
        names.filter_map(|name| self.by_name.get(name.as_str()).copied())
    }

    /// Returns how many steps must end one after another before a step begins.
    fn depth(&self, at: usize, depths: &mut [Option<usize>]) -> usize {
        if let Some(known) = depths[at] {
            return known;
        }
        // A cycle, which no plan has, ends here.
        depths[at] = Some(0);
        let before = self.before(at);
        let depth = before.map(|before| self.depth(before, depths) + 1).max();
        depths[at] = depth.or(Some(0));
        depth.unwrap_or(0)
    }

    fn others(&self, at: usize) -> Vec<&'s str> {
        let step = &self.steps[at];
        if step.part_of.is_some() {
            return Vec::new();
        }
        let parent = self.parents[at].map(|parent| self.steps[parent].name.as_str());
        let names = step.depends_on.iter().map(String::as_str);
        names.filter(|name| parent != Some(*name)).collect()
    }

    /// Returns the steps below a step, or at the top, the last first.
    fn below(&self, above: Option<usize>, continues: &[bool]) -> Vec<(usize, Vec<bool>)> {
        let steps = (0..self.steps.len()).rev();
        let below = steps.filter(|at| self.parents[*at] == above);
        below
            .enumerate()
            .map(|(from_the_last, at)| (at, [continues, &[from_the_last > 0]].concat()))
            .collect()
    }
}
