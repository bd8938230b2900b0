//! Where metrics are served.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::error_code::ErrorCode;
use super::read::Fields;

/// Reads the table `metrics`.
pub(super) fn metrics(fields: Fields<'_, '_>) -> Option<SocketAddr> {
    let listen = fields.string("listen");
    if !fields.has("listen") {
        fields.missing("listen", "give the address, such as listen = \"127.0.0.1:9464\"");
    }
    let address = listen.and_then(|listen| {
        let address = listen_address(&listen);
        if address.is_none() {
            fields.report(
                ErrorCode::BAD_VALUE,
                "listen",
                format!("\"{listen}\" is no address"),
                "give an IP address and a port, such as \"127.0.0.1:9464\", or a port alone",
            );
        }
        address
    });
    fields.finish();
    address
}

/// An address to listen at. A port alone means this machine only: whoever wants to be reached
/// from elsewhere says so.
pub fn listen_address(text: &str) -> Option<SocketAddr> {
    let port = text.strip_prefix(':').unwrap_or(text);
    match port.parse::<u16>() {
        Ok(port) => Some(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)),
        Err(_) => text.parse().ok(),
    }
}
