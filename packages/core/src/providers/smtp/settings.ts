import { createPrivateKey } from 'node:crypto'
import * as z from 'zod'
import { emailAddress } from '../../contract/fields/email-address.ts'
import { LIMITS } from '../../contract/limits.ts'
import { certificate, commonSettings, pem } from '../common-settings.ts'
import { mailServer } from './server-url.ts'

/** The shortest key that receivers accept: RFC 8301, section 3.2. */
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

/** The mail server that receives bounces and nothing else. */
const intake = z.strictObject({
  host: z.string().min(1).max(253).default('127.0.0.1'),
  /** 25, or the port to which a mail server forwards the mail of the bounce domain; 0 for any free port. */
  port: z.int().min(0).max(65_535),
  /** The largest accepted mail. */
  max_bytes: z.int().min(64_000).max(100_000_000).optional(),
})

/** The settings for e-mail through a mail server. */
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
  /** The domain of the senders' addresses. */
  mail_domain: domain,
  /** The local part of one address for all mail; default: every workspace has its own address. */
  from_local_part: z
    .string()
    .refine(
      (text) => text.length <= LIMITS.email_local_length && emailAddress(`${text}@a.example`),
      'must be the part of an address before the @',
    )
    .optional(),
  /** The DKIM key of the service; not needed if the mail server signs. */
  dkim: dkim.optional(),
  /** The maximum number of connections to the server, from each sending thread. */
  connections: z.int().min(1).max(100).default(10),
  /** Refuse connections without TLS; default: true, except for a server on this machine. */
  require_tls: z.boolean().optional(),
  /** The certificate of the authority that signed the server's certificate, if it is not a public authority. */
  certificate_authority: certificate.optional(),
  /** Request reports of failures and delays from servers that support it (RFC 3461). */
  dsn: z.boolean().default(true),
  /** Add one-click unsubscribing (RFC 8058) to every mail that has none. */
  unsubscribe: z.boolean().default(true),
  /** The domain of the bounce addresses `b+<token>@<bounce_domain>`; default with an intake: `bounce.<mail_domain>`. */
  bounce_domain: domain.optional(),
  /** Send a mail with an unknown outcome again, with the same `Message-ID`. The recipient may get the mail twice. */
  resend_unknown: z.boolean().default(false),
  intake: intake.optional(),
})

/** The parsed settings. */
export type SmtpSettings = z.output<typeof settings>

/** The domain of the bounce addresses; null if the service does not receive bounces. */
export function bounceDomain({ bounce_domain, intake, mail_domain }: SmtpSettings): string | null {
  return bounce_domain ?? (intake ? `bounce.${mail_domain}` : null)
}
