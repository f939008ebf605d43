import { createPrivateKey } from 'node:crypto'
import * as z from 'zod'
import { emailAddress } from '../../contract/fields/email-address.ts'
import { LIMITS } from '../../contract/limits.ts'
import { certificate, commonSettings, pem } from '../common-settings.ts'
import { mailServer } from './server-url.ts'

/** What receivers still take: RFC 8301, section 3.2. */
const RSA_BITS_MIN = 1024

const domain = z
  .string()
  .toLowerCase()
  .refine((text) => emailAddress(`a@${text}`)?.domain === text, 'must be a domain in ASCII')

const privateKey = pem.refine(isRsaKey, 'must be an RSA private key in PEM, of 1024 bits or more')

function isRsaKey(text: string): boolean {
  try {
    const { asymmetricKeyType, asymmetricKeyDetails } = createPrivateKey(text)
    return asymmetricKeyType === 'rsa' && (asymmetricKeyDetails?.modulusLength ?? 0) >= RSA_BITS_MIN
  } catch {
    return false
  }
}

const dkim = z.strictObject({
  domain,
  /** The key is published at `<selector>._domainkey.<domain>`. */
  selector: z
    .string()
    .regex(
      /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i,
      'must be one or more labels of a domain name',
    )
    .max(200),
  private_key: privateKey,
})

/** Where bounces are taken in: a mail server of its own that takes nothing else. */
const intake = z.strictObject({
  host: z.string().min(1).max(253).default('127.0.0.1'),
  /** 25, or where a mail server hands on what is for the bounce domain; 0 for any that is free. */
  port: z.int().min(0).max(65_535),
  /** The largest mail that is taken. */
  max_bytes: z.int().min(64_000).max(100_000_000).optional(),
})

/** What an operator sets for sending e-mail through a mail server. */
export const settings = z.strictObject({
  ...commonSettings,
  type: z.literal('smtp'),
  /** `smtp://user:password@host:port` or `smtps://…`. */
  url: z
    .string()
    .max(LIMITS.url_length)
    .refine(
      (text) => mailServer(text) !== null,
      'must be smtp://user:password@host:port or smtps://…, without path and query',
    ),
  /** Whose addresses mail comes from. */
  mail_domain: domain,
  /** The one address that all mail comes from, before its `@`; without it every workspace has its own. */
  from_local_part: z
    .string()
    .refine(
      (text) => text.length <= LIMITS.email_local_length && emailAddress(`${text}@a.example`),
      'must be what stands before the @ of an address',
    )
    .optional(),
  /** Signs here; leave it out where the mail server signs. */
  dkim: dkim.optional(),
  /** To the server at the same time, from each thread that sends. */
  connections: z.int().min(1).max(100).default(10),
  /** Never send in plain text; true unless the server is this machine. */
  require_tls: z.boolean().optional(),
  /** What the server's certificate is checked against where no public authority gave it. */
  certificate_authority: certificate.optional(),
  /** Ask servers that can to report failures and delays (RFC 3461). */
  dsn: z.boolean().default(true),
  /** Give every mail that has none a one-click way to unsubscribe (RFC 8058). */
  unsubscribe: z.boolean().default(true),
  /** Where bounces go: `b+<token>@<bounce_domain>`; `bounce.<mail_domain>` unless told, where there is an intake. */
  bounce_domain: domain.optional(),
  /** Send again what may have arrived: the same `Message-ID`, but a recipient may have it twice. */
  resend_unknown: z.boolean().default(false),
  intake: intake.optional(),
})

/** The settings as they are once read. */
export type SmtpSettings = z.output<typeof settings>

/** Where bounces come back to with their message's token, or null where nobody would read them. */
export function bounceDomain({ bounce_domain, intake, mail_domain }: SmtpSettings): string | null {
  return bounce_domain ?? (intake ? `bounce.${mail_domain}` : null)
}
