//! Where each step stands in the tree: under the one that it comes after.

use std::collections::BTreeMap;

use super::step_row::Shown;

/// The place of a step in the tree.
#[derive(Debug)]
pub(crate) struct TreePosition<'s> {
    /// The step, by its place in the workflow.
    pub(crate) step: usize,
    /// What it comes after besides the step that it stands under.
    pub(crate) others: Vec<&'s str>,
    /// For each line above it in the tree and itself, the outermost first: whether more comes below.
    goes_on: Vec<bool>,
}

impl TreePosition<'_> {
    pub(crate) fn depth(&self) -> usize {
        self.goes_on.len()
    }

    /// Returns what stands before the step's mark.
    pub(crate) fn guides(&self) -> String {
        let own = match self.goes_on.last() {
            Some(true) => "├─ ",
            Some(false) => "└─ ",
            None => "",
        };
        self.guides_before() + own
    }

    /// Returns what stands before that, of the steps above it.
    pub(crate) fn guides_before(&self) -> String {
        // A long chain would move everything out of sight: its outermost steps are left out.
        const DEEPEST: usize = 7;
        let above = &self.goes_on[..self.goes_on.len().saturating_sub(1)];
        let left_out = above.len().saturating_sub(DEEPEST);
        let elided = if left_out > 0 { "…  " } else { "" };
        let guides = above[left_out..].iter().skip(usize::from(left_out > 0));
        let guides = guides.map(|goes_on| if *goes_on { "│  " } else { "   " });
        std::iter::once(elided).chain(guides).collect()
    }
}

/// Returns all steps in the order of the tree.
pub(crate) fn places(steps: &[Shown]) -> Vec<TreePosition<'_>> {
    let shape = Shape::of(steps);
    let mut places = Vec::new();
    let mut open: Vec<(usize, Vec<bool>)> = shape.below(None, &[]);
    while let Some((step, goes_on)) = open.pop() {
        open.extend(shape.below(Some(step), &goes_on));
        places.push(TreePosition { step, others: shape.others(step), goes_on });
    }
    places
}

struct Shape<'s> {
    steps: &'s [Shown],
    by_name: BTreeMap<&'s str, usize>,
    /// The step that each one stands under.
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

    /// A part stands under its whole; else a step stands under that of its dependencies which is the deepest, the last of several:
    /// so all that it comes after stands above it.
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

    /// Returns how many steps have to end one after the other before a step begins.
    fn depth(&self, at: usize, depths: &mut [Option<usize>]) -> usize {
        if let Some(known) = depths[at] {
            return known;
        }
        // A circle, which no plan has, ends here.
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

    /// Returns what stands under a step, or at the top, the last first.
    fn below(&self, above: Option<usize>, goes_on: &[bool]) -> Vec<(usize, Vec<bool>)> {
        let steps = (0..self.steps.len()).rev();
        let below = steps.filter(|at| self.parents[*at] == above);
        below
            .enumerate()
            .map(|(from_the_last, at)| (at, [goes_on, &[from_the_last > 0]].concat()))
            .collect()
    }
}
