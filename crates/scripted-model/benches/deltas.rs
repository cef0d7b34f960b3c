//! How many deltas per second one client can be sent. The bar is 50,000: no real model comes near it, and the
//! product's own benchmarks must never measure this server.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use ostler_scripted_model::{Answer, Conversation, Script, ScriptedModel};

const BAR: f64 = 50_000.0;
const DELTAS: u64 = 2_000_000;
const ROUNDS: usize = 3;

fn main() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let _context = runtime.enter();
    let answer = Answer {
        deltas: DELTAS,
        plays: ostler_scripted_model::Plays::Forever,
        ..Answer::default()
    };
    let script = Script {
        conversations: vec![Conversation { prompt: "flood".to_owned(), answers: vec![answer] }],
        ..Script::default()
    };
    let model = ScriptedModel::start(script).map_err(io::Error::other)?;
    let mut output = io::stdout().lock();
    for _ in 0..ROUNDS {
        let (bytes, seconds) = read_flood(model.port())?;
        let per_second = DELTAS as f64 / seconds;
        writeln!(
            output,
            "{DELTAS} deltas, {} MB in {seconds:.2} s: {per_second:.0} deltas/s, {:.1} x {BAR}",
            bytes / 1_000_000,
            per_second / BAR,
        )?;
    }
    runtime.block_on(model.shutdown());
    Ok(())
}

/// A client that does nothing but read, so that the server is what is measured.
fn read_flood(port: u16) -> io::Result<(usize, f64)> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    let body = r#"{"stream":true,"input":[{"role":"user","content":"flood"}]}"#;
    let length = body.len();
    write!(
        stream,
        "POST /v1/responses HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )?;
    let begin = Instant::now();
    let (mut buffer, mut bytes) = (vec![0; 256 * 1024], 0);
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok((bytes, begin.elapsed().as_secs_f64())),
            count => bytes += count,
        }
    }
}
