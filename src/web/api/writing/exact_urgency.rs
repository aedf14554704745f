//! The urgency of a message or a request of a program, as a number.

use axum::http::StatusCode;

use crate::domain::messaging::Urgency;
use crate::web::problem::Problem;

/// Returns the urgency that a number means.
pub(super) fn exact_urgency(number: f64) -> Result<Urgency, Problem> {
    let title = "The urgency is out of its range";
    Urgency::new(number).ok_or_else(|| {
        Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "wrong-urgency", title)
            .with_detail("`urgency` is 0 to 1")
    })
}
