//! `max_decoded_size` against prost's allocations: for every message that a peer or a file can send, bytes that expand as much
//! as its descriptor allows.

mod counting;
mod hostile;
mod messages;

use counting::peak;
use hostile::Schema;
use messages::{ALL, Kind};
use thalweg_proto::{Bytes, Pieces};

#[global_allocator]
static ALLOCATOR: counting::Counting = counting::Counting;

/// How many times the bytes of a message its decoded form may be. Changes with the messages' fields: see `max_decoded_size`.
const MOST_TIMES: usize = 4000;

#[test]
fn no_message_takes_more_than_is_asked_for() {
    let schema = Schema::new();
    let (mut tried, mut worst, mut slackest) = (0, (0, String::new()), (0, String::new()));
    for kind in ALL {
        let mut times = 0;
        for (what, bytes) in schema.hostile(&(kind.name)()) {
            let bytes = Bytes::from(bytes);
            let (room, taken) = measured(kind, &bytes);
            let what = format!("{}: {what}", (kind.name)());
            assert!(taken <= room, "{what}: {} bytes took {taken}, room is {room}", bytes.len());
            times = times.max(taken / bytes.len().max(1));
            worst = worst.max((taken / bytes.len().max(1), what.clone()));
            if (kind.is_as_written)(&bytes) {
                slackest = slackest.max((room / taken.max(4096), what));
            }
            tried += 1;
        }
        println!("{} times its bytes: {}", times, (kind.name)());
    }
    println!("{tried} messages of {} types", ALL.len());
    println!("at most {} times its bytes: {}", worst.0, worst.1);
    println!("asked for at most {} times what is taken: {}", slackest.0, slackest.1);
    assert!(worst.0 <= MOST_TIMES && worst.0 > MOST_TIMES / 2, "{worst:?}");
    assert!(slackest.0 <= 8, "{slackest:?}");
}

/// Damaged messages are decoded to where the damage is.
#[test]
fn what_is_damaged_takes_no_more_than_is_asked_for() {
    let schema = Schema::new();
    let mut random = 88172645463325252u64;
    for kind in ALL {
        for (what, mut bytes) in schema.hostile(&(kind.name)()).into_iter().step_by(7) {
            for _ in 0..8 {
                random ^= random << 13;
                random ^= random >> 7;
                random ^= random << 17;
                let at = random as usize % bytes.len();
                bytes[at] = (random >> 32) as u8;
                let damaged = Bytes::from(bytes.clone());
                let (room, taken) = measured(kind, &damaged);
                assert!(taken <= room, "{what}, byte {at}: took {taken}, room is {room}: {damaged:?}");
            }
        }
    }
}

/// Bytes in several segments are copied.
#[test]
fn pieces_take_no_more_than_is_asked_for() {
    let schema = Schema::new();
    for kind in ALL {
        for (what, bytes) in schema.hostile(&(kind.name)()).into_iter().step_by(5) {
            let pieces = || {
                let mut pieces = Pieces::default();
                bytes.chunks(97).for_each(|c| pieces.push(Bytes::copy_from_slice(c)));
                pieces
            };
            let room = (kind.room)(&pieces());
            let whole = pieces();
            let (_, taken) = peak(|| (kind.decode)(whole));
            assert!(taken <= room, "{what}: took {taken}, room is {room}");
        }
    }
}

fn measured(kind: &Kind, bytes: &Bytes) -> (usize, usize) {
    let room = (kind.room)(&Pieces::from(bytes.clone()));
    let (_, taken) = peak(|| (kind.decode)(Pieces::from(bytes.clone())));
    (room, taken)
}
