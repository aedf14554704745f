//! Limits the speed of a reader: a faster writer waits at a full pipe, and no byte is lost.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// The allowed burst, in seconds of the limit: a burst after a pause is no flood.
const BURST_SECONDS: u64 = 4;

/// A reader with a limit of bytes a second, after a burst.
#[derive(Debug)]
pub struct Metered<R> {
    inner: R,
    per_second: u64,
    /// The time at which a reader at the limit would have read as much; in the past, a burst is possible.
    paid: Instant,
    pause: Pin<Box<Sleep>>,
}

impl<R> Metered<R> {
    /// Limits a reader. Must be called within a tokio runtime.
    pub fn new(inner: R, per_second: u64) -> Self {
        let now = Instant::now();
        Self { inner, per_second: per_second.max(1), paid: now, pause: Box::pin(sleep_until(now)) }
    }

    fn pay(&mut self, bytes: usize) {
        let nanos = (bytes as u128 * 1_000_000_000) / u128::from(self.per_second);
        let price = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        self.paid = self.paid.max(Instant::now()) + price;
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Metered<R> {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let burst = Duration::from_secs(BURST_SECONDS);
        if this.paid > Instant::now() + burst {
            let resume = this.paid - burst;
            if this.pause.deadline() != resume {
                this.pause.as_mut().reset(resume);
            }
            ready!(this.pause.as_mut().poll(context));
        }
        let before = buffer.filled().len();
        ready!(Pin::new(&mut this.inner).poll_read(context, buffer))?;
        this.pay(buffer.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt as _;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_burst_passes_at_once_and_a_flood_at_the_limit_without_loss() {
        let flood: Vec<u8> = (0..100_000u32).map(|byte| byte.to_le_bytes()[0]).collect();
        let mut metered = Metered::new(&flood[..], 1_000);
        let began = Instant::now();
        let mut burst = vec![0; 4_000];
        metered.read_exact(&mut burst).await.unwrap();
        assert_eq!(began.elapsed(), Duration::ZERO);
        let mut rest = Vec::new();
        while metered.read_buf(&mut rest).await.unwrap() > 0 {}
        assert_eq!([burst, rest.clone()].concat(), flood);

        let mut metered = Metered::new(&flood[..], 1_000);
        let mut chunk = [0; 1_000];
        let began = Instant::now();
        for _ in 0..50 {
            metered.read_exact(&mut chunk).await.unwrap();
        }
        let took = began.elapsed();
        assert!((Duration::from_secs(44)..Duration::from_secs(47)).contains(&took), "{took:?}");
    }
}
