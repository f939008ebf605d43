import { createHash } from 'node:crypto'
import type { WebhookRow } from '../rows/rows.ts'
import type { Sealed, SealedHeaders } from '../rows/sealed.ts'
import type { Place, Sealer } from '../secrets/sealer.ts'

/** The secrets of a webhook in plain text: in memory only. */
export interface WebhookSecrets {
  secret: string
  /** The secret before the last rotation. */
  previous_secret: string | null
  headers: Record<string, string>
}

type SecretColumn = keyof WebhookSecrets

/** A webhook with its secrets in plain text. */
export type OpenedWebhook = Opened<WebhookRow>

/** A row, or a part of one, with its secrets in plain text. */
export type Opened<Row> = Omit<Row, SecretColumn> & WebhookSecrets

/** A change of a webhook, or a whole one, its secrets sealed. */
export type SealedOf<Change> = Omit<Change, SecretColumn> & {
  [Column in keyof Change & SecretColumn]: WebhookRow[Column]
}

interface Id {
  workspace_id: string
  id: string
}

/** Where a secret of a webhook stands. */
export function placeOfWebhook({ workspace_id, id }: Id, column: SecretColumn): Place {
  return { table: 'webhooks', column, workspace_id, id }
}

/** Seals the secrets that a change sets; the others are left out of it. */
export function sealWebhook<Change extends Partial<WebhookSecrets>>(
  sealer: Sealer,
  id: Id,
  change: Change,
): SealedOf<Change> {
  const { secret, previous_secret, headers, ...others } = change
  const seal = (column: SecretColumn, text: string) => sealer.seal(placeOfWebhook(id, column), text)
  return {
    ...others,
    ...(secret !== undefined && { secret: seal('secret', secret) }),
    ...(previous_secret !== undefined && {
      previous_secret: previous_secret && seal('previous_secret', previous_secret),
    }),
    ...(headers !== undefined && { headers: sealHeaders(sealer, id, headers) }),
  } as SealedOf<Change>
}

/** Without a key they stay an object: what a tenant chose cannot pass for a sealed text. */
export function sealHeaders(
  sealer: Sealer,
  id: Id,
  headers: Record<string, string>,
): SealedHeaders {
  if (sealer.key_id === null || Object.keys(headers).length === 0) return headers as SealedHeaders
  return sealer.seal(placeOfWebhook(id, 'headers'), JSON.stringify(headers))
}

/** @throws SealedError where a value cannot be decrypted. */
export function openHeaders(
  sealer: Sealer,
  id: Id,
  headers: SealedHeaders,
): Record<string, string> {
  if (typeof headers !== 'string') return { ...headers }
  return JSON.parse(sealer.open(placeOfWebhook(id, 'headers'), headers))
}

/**
 * The row with its secrets in plain text.
 * @throws SealedError where one cannot be decrypted.
 */
export function openWebhook<Row extends Pick<WebhookRow, SecretColumn>>(
  sealer: Sealer,
  id: Id,
  row: Row,
): Opened<Row> {
  const open = (column: SecretColumn, value: Sealed) =>
    sealer.open(placeOfWebhook(id, column), value)
  return {
    ...row,
    secret: open('secret', row.secret),
    previous_secret: row.previous_secret && open('previous_secret', row.previous_secret),
    headers: openHeaders(sealer, id, row.headers),
  }
}

const FINGERPRINT = 'sha256:'

/** What tells a secret from others, and cannot sign: what sealing gives differs each time, and cannot be compared. */
export function fingerprintOf(secret: string): string {
  return `${FINGERPRINT}${createHash('sha256').update(secret).digest('base64url')}`
}

/** Whether the text is a fingerprint, and not a secret from before there were any. */
export function isFingerprint(text: string): boolean {
  return text.startsWith(FINGERPRINT)
}
