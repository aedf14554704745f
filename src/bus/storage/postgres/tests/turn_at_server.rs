//! The turn among all machines at a real server.

use super::super::line_order::TURN;
use super::super::shared_sql::lock_number;
use super::*;

/// Waits until something waits for a lock on the server.
fn wait_for_a_waiting_one(address: &str) {
    let count = "SELECT count(*) FROM pg_locks WHERE NOT granted";
    let begun = Instant::now();
    while sql(address, count).unwrap().as_deref() == Some("0") {
        assert!(begun.elapsed() < Duration::from_secs(20), "nobody waits");
    }
}

#[test]
fn who_has_the_turn_among_all_machines_gets_the_next_place() {
    let Some(team) = Team::start() else { return };
    let [holder, racer, next] = [(); 3].map(|()| PostgresOrder::of(&team.order).unwrap());
    let lines = holder.take_turn(1, None, soon()).unwrap();
    assert_eq!(lines, Some(NextLines::default()));
    let first = line(1, 1, None);
    std::thread::scope(|scope| {
        let outrun = scope.spawn(|| racer.put(&line(1, 1, None), soon()).unwrap());
        let waited = scope.spawn(|| next.take_turn(1, None, soon()).unwrap());
        wait_for_a_waiting_one(&team.server.address());
        assert_eq!(holder.put(&first, soon()).unwrap(), Sequenced::Accepted);
        let lines = waited.join().unwrap().unwrap();
        assert_eq!(lines.lines.iter().map(|line| line.seq).collect::<Vec<_>>(), [1]);
        // Given back once, and no longer held after that.
        let given_back = [&next, &next, &holder].map(|order| order.let_go(soon()));
        assert_eq!(given_back, [true, false, false]);
        assert_eq!(outrun.join().unwrap(), Sequenced::Behind);
    });
    let second = line(2, 1, Some(first.command));
    assert_eq!(racer.put(&second, soon()).unwrap(), Sequenced::Accepted);
}

#[test]
fn who_stands_still_in_the_turn_loses_it_and_no_text_that_it_stored() {
    let Some(team) = Team::start() else { return };
    let [silent, other] = [(); 2].map(|()| PostgresOrder::of(&team.order).unwrap());
    let text = random_ids::blob();
    assert!(silent.take_turn(1, None, soon()).unwrap().is_some());
    silent.put_text(text, "a long text", soon()).unwrap();
    assert!(silent.take_turn(1, None, soon()).unwrap().is_some());
    assert!(other.take_turn(1, None, soon()).unwrap().is_some(), "the server has ended the first");
    let first = line(1, 1, None);
    assert_eq!(other.put(&first, soon()).unwrap(), Sequenced::Accepted);
    assert_eq!(silent.put(&line(1, 1, None), soon()).unwrap(), Sequenced::Behind);
    assert_eq!(other.text(text, soon()).unwrap(), "a long text");
    // Its own connection is opened anew.
    assert!(silent.take_turn(1, None, soon()).unwrap().is_some());
    let second = line(2, 1, Some(first.command));
    assert_eq!(silent.put(&second, soon()).unwrap(), Sequenced::Accepted);
}

#[test]
fn much_is_not_read_in_the_turn_but_before_it() {
    let Some(team) = Team::start() else { return };
    let [writer, reader] = [(); 2].map(|()| PostgresOrder::of(&team.order).unwrap());
    let mut after = None;
    for (seq, length) in [(1, 40_000), (2, 40_000), (3, 300_000), (4, 100)] {
        let line = ProposedLine { bytes: vec![b'x'; length], ..line(seq, 1, after) };
        assert_eq!(writer.put(&line, soon()).unwrap(), Sequenced::Accepted);
        after = Some(line.command);
        let in_turn = reader.take_turn(1, None, soon()).unwrap().unwrap();
        assert_eq!(in_turn.has_more, seq > 1, "{seq}");
        assert_eq!(reader.let_go(soon()), seq == 1, "it was given back already: {seq}");
    }
    let read = |seq, after| {
        let next = reader.lines_from(seq, after, soon()).unwrap();
        (next.lines.iter().map(|line| line.seq).collect::<Vec<_>>(), next.has_more)
    };
    assert_eq!(read(1, None), (vec![1, 2], true));
    let command_of = |seq: u64| {
        let select = format!("SELECT command::text FROM cli_team_bridge.log WHERE seq = {seq}");
        let command = sql(&team.server.address(), &select).unwrap().unwrap();
        Some(CommandId(command.parse().unwrap()))
    };
    assert_eq!(read(3, command_of(2)), (vec![3], true), "one line is read, however long");
    assert_eq!(read(4, command_of(3)), (vec![4], false));
}

/// Takes the turn without any limit, as a holder has it that the server writes to while it does not read.
fn hold_without_limit(team: &Team) -> Connection {
    let mut holder = Connection::new(&team.server.address()).unwrap();
    let number = lock_number(&team.order.team);
    let begin = format!("BEGIN; SELECT pg_advisory_xact_lock({TURN}, {number})");
    holder.run(soon(), async |client| client.batch_execute(&begin).await).unwrap();
    holder
}

#[test]
fn a_holder_that_the_server_cannot_end_is_ended_by_who_waits() {
    let Some(team) = Team::start() else { return };
    let _holder = hold_without_limit(&team);
    let other = PostgresOrder::of(&team.order).unwrap();
    assert_eq!(other.take_turn(1, None, soon()).unwrap(), None, "its wait was too long");
    assert!(other.take_turn(1, None, soon()).unwrap().is_some(), "it has ended the holder");
    assert_eq!(other.put(&line(1, 1, None), soon()).unwrap(), Sequenced::Accepted);
}

#[test]
fn a_wait_that_was_too_long_is_told_as_such_whatever_failed_after_it() {
    let Some(team) = Team::start() else { return };
    let owner = team.server.address();
    sql(&owner, "CREATE ROLE hasty LOGIN SUPERUSER").unwrap();
    sql(&owner, "ALTER ROLE hasty SET statement_timeout = 100").unwrap();
    let server = owner.replace("user=bridge", "user=hasty");
    let hasty = PostgresOrder::of(&OrderedBy { server, ..team.order.clone() }).unwrap();
    // Its statements are prepared by this.
    assert!(hasty.take_turn(1, None, soon()).unwrap().is_some() && hasty.let_go(soon()));
    let _holder = hold_without_limit(&team);
    for _ in 0..6 {
        hasty.take_turn(1, None, soon()).unwrap();
    }
}
