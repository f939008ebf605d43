import { LIMITS } from '@svc/core/contract'

const MIB = 1024 * 1024

/** The limits of the SMTP inlet: counts, sizes in bytes, times in milliseconds. */
export interface InletLimits {
  connections: number
  /** Connections of one IPv4 address, or of one IPv6 /48. */
  connections_of_network: number
  recipients: number
  /** Refused recipients of one connection, before it is closed. */
  refused_recipients: number
  /** Failed logins of one connection, before it is closed. */
  failed_logins: number
  /** Mails of one connection, before it is closed. */
  mails: number
  mail_bytes: number
  /** The mails of all connections that have no reply yet. */
  buffered_bytes: number
  /** The mails of one workspace that have no reply yet. */
  buffered_bytes_of_workspace: number
  /** The mails from one network of clients that have no reply yet, of all its workspaces. */
  buffered_bytes_of_client: number
  /** The time from the connection to the login. */
  login_ms: number
  /** The silence of a client after which its connection is closed. */
  silence_ms: number
  /** The time from DATA to the end of the mail. */
  data_ms: number
  /** The time to store a mail with an idempotency key, which the client can repeat. */
  repeatable_ms: number
  connection_ms: number
}

/** The limits for mails whose decoded files come to at most `attachments_max_bytes`. */
export function inletLimits(attachments_max_bytes: number): InletLimits {
  // A text of 2 MB needs up to 6 MB in quoted-printable, and a file 37 % more in base64 with its line breaks.
  const mail_bytes = 3 * LIMITS.email_body_bytes + MIB + Math.ceil(attachments_max_bytes * 1.4)
  return {
    connections: 1_000,
    connections_of_network: 100,
    recipients: 50,
    refused_recipients: 100,
    failed_logins: 3,
    mails: 1_000,
    mail_bytes,
    buffered_bytes: 4 * mail_bytes + 3 * MIB,
    // Two mails of the maximum size, with the memory of their chunks.
    buffered_bytes_of_workspace: 2 * mail_bytes + MIB,
    buffered_bytes_of_client: 3 * mail_bytes + 2 * MIB,
    login_ms: 60_000,
    // RFC 5321, section 4.5.3.2.7.
    silence_ms: 300_000,
    data_ms: 120_000,
    // As in the API.
    repeatable_ms: 9_500,
    connection_ms: 3_600_000,
  }
}
