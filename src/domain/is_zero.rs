//! Says whether a number is zero, for fields that are left out then. Serde hands a reference over.

/// Says whether a number is zero.
pub fn is_zero<N: Default + PartialEq>(number: &N) -> bool {
    *number == N::default()
}
