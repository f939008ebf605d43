import { placeOfKey } from '../api-keys/key.ts'
import { type Actor, auditRow, SERVICE } from '../audit/entry.ts'
import { countedText } from '../contract/fields/amounts.ts'
import type { AuditAction } from '../contract/resources/audit.ts'
import { placeOfDomainKey } from '../domains/signing-keys.ts'
import { partsOf, type Sealed } from '../rows/sealed.ts'
import type { Runtime } from '../runtime/runtime.ts'
import type { SecretsKey } from '../secrets/keys.ts'
import { createSealer, type Place, SealedError, type Sealer } from '../secrets/sealer.ts'
import { createSecrets, placeOfSecret } from '../secrets/secrets.ts'
import type { Storage } from '../storage/ports/storage.ts'
import type { DomainSecretColumns, WebhookSecretColumns } from '../storage/ports/stores.ts'
import {
  fingerprintOf,
  isFingerprint,
  openHeaders,
  placeOfWebhook,
  sealHeaders,
} from '../webhooks/sealed-webhook.ts'
import {
  type BatchOptions,
  type DiscardReport,
  discardUnreadable,
  inBatches,
  type Rows,
} from './discard-secrets.ts'

/** The numbers of plain and encrypted secrets in the database. */
export interface SecretsStatus {
  /** The id of the key that encrypts new values; null when no key is set and new values are plain text. */
  key_id: string | null
  /** Values stored as plain text. */
  plain: number
  /** The number of values that each key encrypted: first the configured keys in their order, then the others. */
  keys: { key_id: string; is_given: boolean; values: number }[]
}

/** The result of a re-encryption, as numbers of values. */
export interface ResealReport {
  changed: number
  /** Values already in the target form. */
  unchanged: number
  /** Values that cannot be decrypted and did not change. */
  unreadable: number
}

/** `actor` is recorded in the audit log. */
export interface ResealOptions extends BatchOptions {
  actor?: Actor
}

/** The encryption of the secrets of the service, webhooks and sending domains, and of API keys that sign, in the database. */
export interface SecretsAtRest {
  /** The number of values of each key, and of values in plain text. */
  status(): Promise<SecretsStatus>
  /**
   * Encrypts every value that is not encrypted with the first key. Each batch is one transaction, and servers may run
   * meanwhile. After an interruption, another run changes the rest.
   * @throws Error when no key is set.
   */
  encrypt(options?: ResealOptions): Promise<ResealReport>
  /** Stores every value as plain text, in batches like `encrypt`. A server with a key still encrypts new values. */
  decrypt(options?: ResealOptions): Promise<ResealReport>
  /**
   * Replaces every value that cannot be decrypted, because its key is lost. The service generates its secrets again when
   * it needs them. A webhook gets a new secret or loses its headers, and stays disabled until its owner enables it. A
   * webhook that lost only its previous secret stays enabled. An API key that was lost still authenticates, but does not
   * sign any more. A sending domain is removed, or loses its second key.
   */
  discard(options?: ResealOptions): Promise<DiscardReport>
}

export function createSecretsAtRest({
  storage,
  runtime,
  sealer,
  plain,
}: {
  storage: Storage
  runtime: Runtime
  sealer: Sealer
  /** Decrypts with the same keys, and stores new values as plain text. */
  plain: Sealer
}): SecretsAtRest {
  async function reseal(target: Sealer, options: ResealOptions): Promise<ResealReport> {
    const report: ResealReport = { changed: 0, unchanged: 0, unreadable: 0 }
    const rows: Rows<Resealing> = {
      async secret({ sealedValues }, { name, value }, by) {
        const changed = by.text(placeOfSecret(name), value)
        if (changed !== null) await sealedValues.changeSecret(name, changed)
      },
      async webhook({ sealedValues }, row, by) {
        const change = changeOf(row, by)
        if (Object.keys(change).length === 0) return
        await sealedValues.changeWebhook(row.workspace_id, row.id, change)
      },
      async signingKey({ sealedValues }, row, by) {
        const changed = by.text(placeOfKey(row), row.sealed_key)
        if (changed !== null) {
          await sealedValues.changeSigningKey(row.workspace_id, row.id, changed)
        }
      },
      async domain({ sendingDomains }, row, by) {
        const change = domainChangeOf(row, by)
        if (Object.keys(change).length === 0) return
        await sendingDomains.change(row.workspace_id, row.id, change)
      },
    }
    const add = ({ counts }: Resealing) => {
      report.changed += counts.changed
      report.unchanged += counts.unchanged
      report.unreadable += counts.unreadable
    }
    await inBatches(storage, rows, { begin: () => resealing(target), add }, options)
    return report
  }

  /** Records the action in a separate transaction, before the first batch. */
  async function recordAction(action: AuditAction, actor: Actor = SERVICE): Promise<void> {
    const details = { key_id: sealer.key_id }
    const row = auditRow(runtime, actor, { workspace_id: '', action, details })
    await storage.write(({ audit }) => audit.record(row))
  }

  return {
    async status() {
      const forms = await storage.read.sealedValues.forms()
      const countOf = (id: string | null) => forms.find(({ key_id }) => key_id === id)?.count ?? 0
      const others = forms.flatMap(({ key_id }) =>
        key_id === null || sealer.key_ids.includes(key_id) ? [] : [key_id],
      )
      const keyOf = (is_given: boolean) => (key_id: string) => ({
        key_id,
        is_given,
        values: countOf(key_id),
      })
      return {
        key_id: sealer.key_id,
        plain: countOf(null),
        keys: [...sealer.key_ids.map(keyOf(true)), ...others.sort().map(keyOf(false))],
      }
    },
    async encrypt(options = {}) {
      if (sealer.key_id === null) throw new Error('no key is set to encrypt with')
      await recordAction('secrets.encrypted', options.actor)
      return reseal(sealer, options)
    },
    async decrypt(options = {}) {
      await recordAction('secrets.decrypted', options.actor)
      return reseal(plain, options)
    },
    async discard(options = {}) {
      await recordAction('secrets.discarded', options.actor)
      return discardUnreadable({ storage, runtime, sealer }, options)
    },
  }
}

/**
 * Refuses a database with secrets of missing keys.
 * @throws SealedError that names the ids of the missing keys.
 */
async function assertSecretsReadable(storage: Storage, { key_ids }: Sealer): Promise<void> {
  const forms = await storage.read.sealedValues.formsAtStart()
  const missing = forms.filter(({ key_id }) => key_id !== null && !key_ids.includes(key_id))
  if (missing.length === 0) return
  const values = missing.reduce((sum, { count }) => sum + count, 0)
  const ids = missing
    .map(({ key_id }) => key_id)
    .sort()
    .join(', ')
  throw new SealedError(
    `the database holds ${countedText(values, 'secret')} encrypted with ${missing.length === 1 ? 'a key that is' : 'keys that are'} not set (key id ${ids}): put every key that is still in use into secrets_keys`,
  )
}

function changeOf(row: WebhookSecretColumns, by: Resealing) {
  const secret = by.text(placeOfWebhook(row, 'secret'), row.secret)
  const previous_secret =
    row.previous_secret && by.text(placeOfWebhook(row, 'previous_secret'), row.previous_secret)
  const headers = by.headers(row)
  const accepted = row.accepted_secret
  const isOld = accepted !== null && !isFingerprint(accepted)
  if (isOld) by.counts.changed += 1
  return {
    ...(secret !== null && { secret }),
    ...(previous_secret !== null && { previous_secret }),
    ...(headers !== null && { headers }),
    ...(isOld && { accepted_secret: fingerprintOf(accepted) }),
  }
}

function domainChangeOf(row: DomainSecretColumns, by: Resealing) {
  const { selector, next_selector, next_private_key: next } = row
  const private_key = by.text(placeOfDomainKey(row, selector), row.private_key)
  const next_private_key =
    next_selector !== null && next !== null
      ? by.text(placeOfDomainKey(row, next_selector), next)
      : null
  return {
    ...(private_key !== null && { private_key }),
    ...(next_private_key !== null && { next_private_key }),
  }
}

type Resealing = ReturnType<typeof resealing>

/** Returns a function that counts, and that returns the new form of a value, or null when the value stays. */
function resealing(target: Sealer) {
  const counts: ResealReport = { changed: 0, unchanged: 0, unreadable: 0 }

  function changed<T>(isDone: boolean, seal: () => T): T | null {
    if (isDone) {
      counts.unchanged += 1
      return null
    }
    try {
      const value = seal()
      counts.changed += 1
      return value
    } catch (error) {
      if (!(error instanceof SealedError)) throw error
      counts.unreadable += 1
      return null
    }
  }

  return {
    counts,
    text: (place: Place, value: Sealed) =>
      changed(isSealedBy(target, value), () => target.seal(place, target.open(place, value))),
    headers(row: WebhookSecretColumns) {
      if (typeof row.headers !== 'string' && Object.keys(row.headers).length === 0) return null
      const isDone =
        typeof row.headers === 'string' ? isSealedBy(target, row.headers) : target.key_id === null
      return changed(isDone, () => sealHeaders(target, row, openHeaders(target, row, row.headers)))
    },
  }
}

function isSealedBy({ key_id }: Sealer, value: Sealed): boolean {
  return (partsOf(value)?.key_id ?? null) === key_id
}

interface OpenedSecrets {
  sealer: Sealer
  /** A secret that the service generated. */
  secret: (name: string) => Promise<string>
  secretsAtRest: SecretsAtRest
}

/**
 * @param keys the first key encrypts, all keys decrypt.
 * @param required whether values that other keys encrypted are an error.
 * @throws SealedError for values that other keys encrypted.
 */
export async function openSecrets(
  keys: readonly SecretsKey[],
  { storage, runtime, required }: { storage: Storage; runtime: Runtime; required: boolean },
): Promise<OpenedSecrets> {
  const sealer = createSealer(keys, runtime)
  const plain = createSealer(keys, runtime, null)
  const secretsAtRest = createSecretsAtRest({ storage, runtime, sealer, plain })
  if (required) await assertSecretsReadable(storage, sealer)
  return { sealer, secret: createSecrets({ storage, runtime, sealer }), secretsAtRest }
}
