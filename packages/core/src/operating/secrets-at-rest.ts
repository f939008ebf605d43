import { type Actor, SERVICE } from '../audit/actor.ts'
import { auditRow } from '../audit/entry.ts'
import type { AuditAction } from '../contract/resources/audit.ts'
import { partsOf, type Sealed } from '../rows/sealed.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { type Place, SealedError, type Sealer } from '../secrets/sealer.ts'
import { placeOfSecret } from '../secrets/secrets.ts'
import type { WebhookSecretColumns } from '../storage/ports/secrets.ts'
import type { Storage } from '../storage/ports/storage.ts'
import {
  fingerprintOf,
  isFingerprint,
  openHeaders,
  placeOfWebhook,
  sealHeaders,
} from '../webhooks/sealed-webhook.ts'
import { type DiscardReport, discardUnreadable } from './discard-secrets.ts'
import { type BatchOptions, inBatches, type Rows } from './secrets-batches.ts'

/** In which form the secrets of the database are. */
export interface SecretsStatus {
  /** The id of the key that encrypts new values; null where none is given, and they are stored as plain text. */
  key_id: string | null
  /** How many values are plain text. */
  plain: number
  /** How many values are encrypted with each key, the first key given before the others. */
  keys: { key_id: string; is_given: boolean; values: number }[]
}

/** What a re-encryption did. */
export interface ResealReport {
  /** How many values were written anew. */
  changed: number
  /** How many were as wanted before. */
  unchanged: number
  /** How many could not be decrypted, and stay as they are. */
  unreadable: number
}

/** How a re-encryption is stopped and watched, and who asks for it. */
export interface ResealOptions extends BatchOptions {
  actor?: Actor
}

/** How the secrets that the database holds are encrypted: those of the service, and those of webhooks. */
export interface SecretsAtRest {
  status(): Promise<SecretsStatus>
  /**
   * Encrypts every value with the first key that is not yet; in batches, each a transaction, beside running servers.
   * Begun again after an interruption, it goes on with what is left.
   * @throws Error where no key is given.
   */
  encrypt(options?: ResealOptions): Promise<ResealReport>
  /** Writes every value as plain text, as `encrypt` does it. A server that has a key goes on to encrypt new values. */
  decrypt(options?: ResealOptions): Promise<ResealReport>
  /**
   * For a lost key: gives up every value that cannot be decrypted. A secret of the service is made anew when it is needed;
   * a webhook gets a new secret, loses its headers, and stays disabled until its owner enables it.
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
  /** Opens with the same keys, and seals with none. */
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
    }
    const add = ({ counts }: Resealing) => {
      report.changed += counts.changed
      report.unchanged += counts.unchanged
      report.unreadable += counts.unreadable
    }
    await inBatches(storage, rows, { begin: () => resealing(target), add }, options)
    return report
  }

  /** In a transaction of its own, before the first batch. */
  async function note(action: AuditAction, actor: Actor = SERVICE): Promise<void> {
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
      if (sealer.key_id === null) throw new Error('no key is given to encrypt with')
      await note('secrets.encrypted', options.actor)
      return reseal(sealer, options)
    },
    async decrypt(options = {}) {
      await note('secrets.decrypted', options.actor)
      return reseal(plain, options)
    },
    async discard(options = {}) {
      await note('secrets.discarded', options.actor)
      return discardUnreadable({ storage, runtime, sealer }, options)
    },
  }
}

/**
 * Refuses a database whose secrets could not all be read.
 * @throws SealedError that names the keys which are missing.
 */
export async function assertSecretsReadable(atRest: Pick<SecretsAtRest, 'status'>): Promise<void> {
  const missing = (await atRest.status()).keys.filter(({ is_given }) => !is_given)
  if (missing.length === 0) return
  const values = missing.reduce((sum, key) => sum + key.values, 0)
  const ids = missing.map(({ key_id }) => key_id).join(', ')
  throw new SealedError(
    `the database holds ${values} secrets that are encrypted with ${missing.length === 1 ? 'a key that is' : 'keys that are'} not given (key id ${ids}): set SVC_SECRETS_KEY or SVC_SECRETS_KEY_FILE, with every key that is still in use`,
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

type Resealing = ReturnType<typeof resealing>

/** Answers what a value is to be changed to, null where it stays, and counts. */
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
