//! The protocol between a bridge and a shim. The bridge sends orders over the control socket, a byte each. The end of the socket means
//! the death of the bridge. The shim reports on its stdout, a line each.

use std::fmt::Write as _;

use crate::supervisor::child::Exit;

/// An order to the shim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Send SIGTERM to the agent's group.
    Terminate,
    /// Kill all descendants of the shim.
    Kill,
    /// Suspend all descendants of the shim that belong to the agent.
    Hold,
    /// Let them go on.
    GoOn,
}

impl Order {
    pub(crate) fn byte(self) -> u8 {
        match self {
            Order::Terminate => b't',
            Order::Kill => b'k',
            Order::Hold => b'h',
            Order::GoOn => b'g',
        }
    }

    /// Reads an order. An unknown byte comes from a newer bridge, and is no order here.
    pub(crate) fn of(byte: u8) -> Option<Self> {
        match byte {
            b't' => Some(Order::Terminate),
            b'k' => Some(Order::Kill),
            b'h' => Some(Order::Hold),
            b'g' => Some(Order::GoOn),
            _ => None,
        }
    }
}

/// A report of the shim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ShimReport {
    Started {
        pid: u32,
    },
    /// The system did not start the agent, for this reason.
    Refused {
        errno: i32,
    },
    /// SIGKILL was sent, and this many processes are left.
    Left {
        number: usize,
    },
    /// The agent has ended, and only these processes survive. The last report.
    Ended {
        exit: Exit,
        survivors: Vec<u32>,
    },
}

impl ShimReport {
    /// Returns the report as a line, with its newline.
    pub(crate) fn line(&self) -> String {
        match self {
            ShimReport::Started { pid } => format!("started {pid}\n"),
            ShimReport::Refused { errno } => format!("refused {errno}\n"),
            ShimReport::Left { number } => format!("left {number}\n"),
            ShimReport::Ended { exit, survivors } => {
                let mut line = match (exit.code, exit.signal) {
                    (Some(code), _) => format!("ended code {code}"),
                    (None, Some(signal)) => format!("ended signal {signal}"),
                    (None, None) => "ended unknown 0".to_owned(),
                };
                for pid in survivors {
                    write!(line, " {pid}").expect("writing to a string cannot fail");
                }
                line.push('\n');
                line
            }
        }
    }

    /// Parses a line without its newline. `None` if it is no report.
    pub(crate) fn of(line: &str) -> Option<Self> {
        let mut words = line.split(' ');
        let kind = words.next()?;
        match kind {
            "started" => Some(ShimReport::Started { pid: words.next()?.parse().ok()? }),
            "refused" => Some(ShimReport::Refused { errno: words.next()?.parse().ok()? }),
            "left" => Some(ShimReport::Left { number: words.next()?.parse().ok()? }),
            "ended" => {
                let (how, number) = (words.next()?, words.next()?.parse().ok()?);
                let exit = Exit {
                    code: (how == "code").then_some(number),
                    signal: (how == "signal").then_some(number),
                };
                let survivors = words.map(str::parse).collect::<Result<_, _>>().ok()?;
                Some(ShimReport::Ended { exit, survivors })
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_and_reports_read_back() {
        let exit = |code, signal| Exit { code, signal };
        let ended = |exit, survivors| ShimReport::Ended { exit, survivors };
        for report in [
            ShimReport::Started { pid: 7 },
            ShimReport::Refused { errno: 2 },
            ShimReport::Left { number: 3 },
            ended(exit(Some(0), None), vec![]),
            ended(exit(None, Some(9)), vec![11, 12]),
            ended(Exit::UNKNOWN, vec![]),
        ] {
            let line = report.line();
            let line = line.strip_suffix('\n').unwrap();
            assert_eq!(ShimReport::of(line), Some(report));
        }
        for order in [Order::Terminate, Order::Kill, Order::Hold, Order::GoOn] {
            assert_eq!(Order::of(order.byte()), Some(order));
        }
    }

    #[test]
    fn a_line_that_is_no_report_is_none() {
        for line in ["", "ended", "ended code", "ended code x", "hello 1", "started"] {
            assert_eq!(ShimReport::of(line), None, "{line}");
        }
        assert_eq!(Order::of(b'x'), None);
    }
}
