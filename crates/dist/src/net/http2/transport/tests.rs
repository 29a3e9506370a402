//! Connections from preface to lingering close.

use super::*;
use crate::net::http2::Ending;
use crate::net::http2::frame::{ACK, GOAWAY, PING, PROTOCOL_ERROR, SETTINGS, WINDOW_UPDATE};
use crate::net::http2::testing::{Event, Notes, frame, frames, pair};
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Wake, Waker};
use tokio::net::TcpStream;
use tokio::time::advance;

const SERVER: Role = Role::Server { streams: 100 };
const GOODBYE: [u8; 8] = [0; 8];

fn poll(wire: &mut Transport, notes: &mut Notes) -> Poll<Handled> {
    wire.poll(&mut Context::from_waker(Waker::noop()), notes, true)
}

/// Polls repeatedly, and lets the sockets make progress.
async fn poll_often(wire: &mut Transport, notes: &mut Notes) -> Poll<Handled> {
    for _ in 0..50 {
        if let Poll::Ready(ended) = poll(wire, notes) {
            return Poll::Ready(ended);
        }
        tokio::task::yield_now().await;
    }
    Poll::Pending
}

/// Retries until `done`, far more often than it should take.
async fn until(mut done: impl FnMut() -> bool) {
    for _ in 0..100_000 {
        if done() {
            return;
        }
        tokio::task::yield_now().await;
    }
    panic!("it does not happen");
}

/// Until the handler has an event.
async fn poll_until_told(wire: &mut Transport, notes: &mut Notes) {
    notes.events.clear();
    until(|| {
        assert!(poll(wire, notes).is_pending(), "it goes on");
        !notes.events.is_empty()
    })
    .await;
}

async fn ended(wire: &mut Transport, notes: &mut Notes) -> Handled {
    std::future::poll_fn(|cx| wire.poll(cx, notes, true)).await
}

/// What the peer reads until EOF.
async fn all_heard(mut peer: TcpStream) -> Vec<u8> {
    let mut heard = Vec::new();
    peer.read_to_end(&mut heard).await.unwrap();
    heard
}

fn setting(name: u16, value: u32) -> Vec<u8> {
    [&name.to_be_bytes()[..], &value.to_be_bytes()].concat()
}

#[tokio::test]
async fn the_first_words_say_what_may_be_sent() {
    let same = [setting(4, 67_108_864), setting(5, 1_048_576), setting(6, 16_384)].concat();
    let credit = frame(WINDOW_UPDATE, 0, 0, &(268_435_456u32 - 65_535).to_be_bytes());
    let client = Transport::new(pair().await.0, Role::Client, None).writer.out.drained();
    let settings = frame(SETTINGS, 0, 0, &[setting(2, 0), same.clone()].concat());
    assert_eq!(client, [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &settings[..], &credit].concat());
    let server = Transport::new(pair().await.0, SERVER, None).writer.out.drained();
    let settings = frame(SETTINGS, 0, 0, &[setting(3, 100), same].concat());
    assert_eq!(server, [settings, credit].concat());
}

#[tokio::test]
async fn two_ends_understand_each_other() {
    let (ours, theirs) = pair().await;
    let (mut client, mut server) =
        (Transport::new(ours, Role::Client, None), Transport::new(theirs.into(), SERVER, None));
    let (mut asks, mut answers) = (Notes::default(), Notes::default());
    client.writer.headers(1, true, |encoder, out| encoder.field(out, ":path", b"/a"));
    until(|| {
        assert!(poll(&mut client, &mut asks).is_pending() && poll(&mut server, &mut answers).is_pending());
        let heard = !answers.events.is_empty() && client.writer.max_streams() == 100;
        heard && client.is_idle() && server.is_idle()
    })
    .await;
    assert_eq!(answers.events, [Event::Head { stream: 1, path: b"/a".to_vec(), end: true }]);
    drop(client);
    assert!(ended(&mut server, &mut answers).await.is_ok());
}

#[tokio::test]
async fn all_is_written_when_the_socket_has_it() {
    let (socket, peer) = pair().await;
    let mut wire = Transport::new(socket, SERVER, None);
    assert!(!wire.is_idle());
    wire.writer.on_window_update(0, 1 << 30).unwrap();
    wire.writer.apply_setting(frame::SET_INITIAL_WINDOW, 1 << 30).unwrap();
    wire.writer.open(1);
    // More than `BACKLOG`, and more than the socket's buffer.
    wire.writer.message(1, [Bytes::from(vec![7; 20 << 20])].into(), Ending::Nothing, None);
    let mut cx = Context::from_waker(Waker::noop());
    assert!(wire.poll_flush(&mut cx).is_pending() && !wire.is_idle());
    let write = async {
        std::future::poll_fn(|cx| wire.poll_flush(cx)).await.unwrap();
        assert!(wire.is_idle());
        drop(wire);
    };
    let ((), heard) = tokio::join!(write, all_heard(peer));
    let sent: usize = frames(&heard).iter().filter(|f| f.0.kind == frame::DATA).map(|f| f.1.len()).sum();
    assert_eq!(sent, 20 << 20);
}

#[tokio::test]
async fn whoever_breaks_the_rules_is_told_so_and_up_to_where_it_was_heard() {
    let (socket, mut peer) = pair().await;
    let mut wire = Transport::new(socket, SERVER, None);
    peer.write_all(b"GET / HTTP/1.1\r\n").await.unwrap();
    let mut notes = Notes { last: 7, ..Default::default() };
    let fault = ended(&mut wire, &mut notes).await.unwrap_err();
    assert_eq!(fault.code, PROTOCOL_ERROR);
    // Bytes that we have not read do not keep the peer from reading GOAWAY.
    let (heard, ()) = tokio::join!(all_heard(peer), wire.linger());
    let (head, payload) = frames(&heard).pop().unwrap();
    assert_eq!((head.kind, &payload[..]), (GOAWAY, &[0, 0, 0, 7, 0, 0, 0, 1][..]));
}

#[tokio::test]
async fn a_client_expects_no_preface() {
    let (socket, mut peer) = pair().await;
    let mut wire = Transport::new(socket, Role::Client, None);
    peer.write_all(&frame(GOAWAY, 0, 0, &GOODBYE)).await.unwrap();
    poll_until_told(&mut wire, &mut Notes::default()).await;
}

#[tokio::test]
async fn who_does_not_read_is_not_read_from() {
    let (socket, mut peer) = pair().await;
    let mut wire = Transport::new(socket, Role::Client, None);
    let mut notes = Notes::default();
    // Until the socket is full.
    while poll_often(&mut wire, &mut notes).await.is_pending() && wire.writer.out.len() == 0 {
        wire.writer.out.small.resize(100_000, 0);
    }
    // Below `BACKLOG` we still read.
    peer.write_all(&frame(GOAWAY, 0, 0, &GOODBYE)).await.unwrap();
    poll_until_told(&mut wire, &mut notes).await;
    wire.writer.out.small.resize(4 << 20, 0);
    notes.events.clear();
    peer.write_all(&frame(GOAWAY, 0, 0, &GOODBYE)).await.unwrap();
    assert!(poll_often(&mut wire, &mut notes).await.is_pending());
    assert_eq!(notes.events, []);
    assert!(wire.writer.out.len() > 1 << 20, "{} are left", wire.writer.out.len());
    let mut place = vec![0; 1 << 20];
    until(|| {
        let _ = peer.try_read(&mut place);
        assert!(poll(&mut wire, &mut notes).is_pending());
        !notes.events.is_empty()
    })
    .await;
}

struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A connection whose peer always sends does not starve others on its thread.
#[tokio::test]
async fn after_a_slice_of_time_it_is_the_turn_of_others() {
    let (socket, mut peer) = pair().await;
    let mut wire = Transport::new(socket, Role::Client, None);
    let mut notes = Notes { slow: TIME_SLICE / 8, ..Default::default() };
    peer.write_all(&frame(GOAWAY, 0, 0, &GOODBYE).repeat(1000)).await.unwrap();
    let woken = Arc::new(Woken(AtomicUsize::new(0)));
    let waker = Waker::from(woken.clone());
    let mut most = 0;
    until(|| {
        let before = notes.events.len();
        woken.0.store(0, Ordering::Relaxed);
        assert!(wire.poll(&mut Context::from_waker(&waker), &mut notes, true).is_pending());
        let handled = notes.events.len() - before;
        // Sixteen take longer than a slice; the clock starts after the first.
        assert!(handled <= 32, "{handled} in one poll");
        assert!(handled < 32 || woken.0.load(Ordering::Relaxed) > 0, "nobody would go on");
        most = most.max(handled);
        notes.events.len() == 1000
    })
    .await;
    // It uses its whole time slice.
    assert_eq!(most, 32);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_answer_is_left_without_a_word() {
    let (socket, mut peer) = pair().await;
    let second = Duration::from_secs(1);
    let mut wire = Transport::new(socket, Role::Client, Some(KeepAlive::new(10 * second, 4 * second)));
    let mut notes = Notes::default();
    assert!(poll_often(&mut wire, &mut notes).await.is_pending());
    advance(9 * second).await;
    // Bytes arrive just in time: the PING is due ten seconds later.
    peer.write_all(&frame(PING, ACK, 0, b"whatever")).await.unwrap();
    peer.write_all(&frame(GOAWAY, 0, 0, &GOODBYE)).await.unwrap();
    poll_until_told(&mut wire, &mut notes).await;
    advance(3 * second).await;
    assert!(poll_often(&mut wire, &mut notes).await.is_pending());
    advance(6 * second).await;
    assert!(poll_often(&mut wire, &mut notes).await.is_pending());
    advance(second).await;
    assert!(poll_often(&mut wire, &mut notes).await.is_pending());
    advance(4 * second).await;
    let Poll::Ready(Err(fault)) = poll_often(&mut wire, &mut notes).await else {
        panic!("it is still there")
    };
    assert_eq!(fault.code, frame::NO_ERROR);
    drop(wire);
    let heard = all_heard(peer).await;
    let heard = frames(heard.strip_prefix(PREFACE).unwrap());
    let kinds: Vec<_> = heard.iter().map(|f| (f.0.kind, f.0.flags)).collect();
    assert_eq!(kinds, [(SETTINGS, 0), (WINDOW_UPDATE, 0), (PING, 0)]);
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_is_told_goodbye_is_listened_to_until_it_goes() {
    let (socket, mut peer) = pair().await;
    let mut wire = Transport::new(socket, SERVER, None);
    put_goaway(&mut wire.writer.out.small, 3, PROTOCOL_ERROR);
    let mut lingers = std::pin::pin!(wire.linger());
    let mut cx = Context::from_waker(Waker::noop());
    for _ in 0..5 {
        peer.write_all(&[7; 1000]).await.unwrap();
        for _ in 0..20 {
            assert!(lingers.as_mut().poll(&mut cx).is_pending());
            tokio::task::yield_now().await;
        }
    }
    // The peer has read everything, and end of file.
    let mut heard = Vec::new();
    peer.read_to_end(&mut heard).await.unwrap();
    assert_eq!(frames(&heard).last().unwrap().0.kind, GOAWAY);
    drop(peer);
    lingers.await;
}

#[tokio::test]
async fn a_poll_that_has_done_its_share_goes_on_in_the_next() {
    let woken = Arc::new(Woken(AtomicUsize::new(0)));
    let waker = Waker::from(woken.clone());
    std::future::poll_fn(|cx| {
        assert!(!budget_is_spent(&mut Context::from_waker(&waker)));
        assert_eq!(woken.0.load(Ordering::Relaxed), 0);
        // Each call spends a unit.
        while std::pin::pin!(tokio::task::coop::consume_budget()).poll(cx).is_ready() {}
        assert!(budget_is_spent(&mut Context::from_waker(&waker)));
        assert_eq!(woken.0.load(Ordering::Relaxed), 1);
        Poll::Ready(())
    })
    .await;
}
