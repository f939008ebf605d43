import { createHash } from 'node:crypto'
import { placeOfKey } from '../api-keys/key.ts'
import { invalid } from '../contract/errors.ts'
import { mintSecret } from '../contract/signing/signature.ts'
import type { WebhookRow } from '../rows/rows.ts'
import type { Sealed, SealedHeaders } from '../rows/sealed.ts'
import type { ClaimedDelivery } from '../rules/deliveries.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { Place, Sealer } from '../secrets/sealer.ts'
import type { Storage, Writes } from '../storage/ports/storage.ts'

/** The secrets of a webhook in plain text, in memory only. */
export interface WebhookSecrets {
  secret: string
  /** The secret before the last rotation. */
  previous_secret: string | null
  headers: Record<string, string>
}

type SecretColumn = keyof WebhookSecrets

/** A webhook with its secrets in plain text. */
export type OpenedWebhook = Opened<WebhookRow>

/** A row, or some of its columns, with its secrets in plain text. */
export type Opened<Row> = Omit<Row, SecretColumn> & WebhookSecrets

/** A webhook, or a change of one, with its secrets sealed. */
type SealedOf<Change> = Omit<Change, SecretColumn> & {
  [Column in keyof Change & SecretColumn]: WebhookRow[Column]
}

interface Id {
  workspace_id: string
  id: string
}

/** The place of a webhook's secret. */
export function placeOfWebhook({ workspace_id, id }: Id, column: SecretColumn): Place {
  return { table: 'webhooks', column, workspace_id, id }
}

/** Seals the secrets that a change sets. */
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

/** Without a key, headers stay an object, so that no value of a tenant can look like a sealed text. */
export function sealHeaders(
  sealer: Sealer,
  id: Id,
  headers: Record<string, string>,
): SealedHeaders {
  if (sealer.key_id === null || Object.keys(headers).length === 0) return headers as SealedHeaders
  return sealer.seal(placeOfWebhook(id, 'headers'), JSON.stringify(headers))
}

/** @throws SealedError if a value cannot be decrypted. */
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
 * @throws SealedError if a secret cannot be decrypted.
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

/** A text that identifies a secret but cannot sign. Sealed texts cannot be compared, because sealing differs each time. */
export function fingerprintOf(secret: string): string {
  return `${FINGERPRINT}${createHash('sha256').update(secret).digest('base64url')}`
}

/** Whether the text is a fingerprint. Older versions stored a secret in its place. */
export function isFingerprint(text: string): boolean {
  return text.startsWith(FINGERPRINT)
}

interface SigningSecrets {
  /** The secret that signs the first request. */
  secret: string
  /** The secret that signs the second request, after a refusal of the first. Null outside the overlap of a rotation. */
  other_secret: string | null
}

/**
 * During a rotation, the secret that last got a 2xx signs first: this is the old secret until the new secret has worked.
 * Source: contract section 12.
 */
export function signingSecrets({
  secret,
  previous_secret,
  accepted_secret,
}: Pick<
  Opened<ClaimedDelivery>,
  'secret' | 'previous_secret' | 'accepted_secret'
>): SigningSecrets {
  if (previous_secret === null) return { secret, other_secret: null }
  if (accepted_secret === fingerprintOf(secret)) return { secret, other_secret: previous_secret }
  return { secret: previous_secret, other_secret: secret }
}

/** The remedy for a key that is stored as a hash only. */
export const NO_SIGNATURE =
  'This API key does not sign callbacks. Create one that does: svc keys create --twilio'

/**
 * The text of an API key that signs webhooks in place of a secret of their own.
 * @throws SvcError `validation_error` at `path` if the workspace has no such key, or the key does not sign.
 */
export async function signingKeyOf(
  { storage, sealer }: { storage: Storage; sealer: Sealer },
  { workspace_id, api_key_id: id }: { workspace_id: string; api_key_id: string },
  path: string,
): Promise<string> {
  const sealed = await storage.read.apiKeys.sealedKey(workspace_id, id)
  if (sealed === null) throw invalid(path, NO_SIGNATURE)
  return sealer.open(placeOfKey({ workspace_id, id }), sealed)
}

/** The `disabled_reason` of a webhook that a deactivated API key signed. */
const KEY_DEACTIVATED = 'key_deactivated'

/** Ends the webhooks that an API key signs, in the transaction that deactivates the key. */
export type EndSigning = (
  stores: Pick<Writes, 'webhooks'>,
  workspaceId: string,
  /** Null: every key of the workspace. */
  keyId: string | null,
) => Promise<void>

/**
 * Disables these webhooks, and replaces their secrets, because each has a copy of the key. A webhook that its owner created
 * no longer depends on the key: after it is enabled again, it is signed with a secret of its own.
 */
export function createEndSigning({
  runtime,
  sealer,
}: {
  runtime: Runtime
  sealer: Sealer
}): EndSigning {
  return async ({ webhooks }, workspaceId, keyId) => {
    const updated_at = runtime.now()
    for (const row of await webhooks.lockSignedBy(workspaceId, keyId)) {
      await webhooks.change(workspaceId, row.id, {
        ...sealWebhook(sealer, row, { secret: mintSecret(runtime.bytes), previous_secret: null }),
        previous_secret_ends_at: null,
        accepted_secret: null,
        ...(row.callback_origin === null && { api_key_id: null }),
        ...(row.is_active && {
          is_active: false,
          status: 'disabled',
          disabled_reason: KEY_DEACTIVATED,
          disabled_at: updated_at,
        }),
        updated_at,
      })
    }
  }
}
